// Browsers start no worker from a file. For a site that is opened from files, a hidden frame runs the script instead, so
// that the search works without a server. The theme would otherwise fetch such a script from another site.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.loaded = new Promise(resolve => this.frame.addEventListener("load", resolve, {once: true}));
      this.frame.srcdoc = `<body><script>
        postMessage = message => parent.postMessage(message, "*");
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((resolve, reject) =>
          document.body.append(Object.assign(document.createElement("script"),
            {src: url, onload: resolve, onerror: reject})))), Promise.resolve());
      </script><script src="${new URL(url, location)}"></script>`;
      this.forward = event => {
        if (event.source !== this.frame.contentWindow) return;
        const message = new MessageEvent("message", {data: event.data});
        this.dispatchEvent(message);
        this.onmessage?.(message);
      };
      addEventListener("message", this.forward);
      document.body.append(this.frame);
    }
    postMessage(message) {
      // Not the frame's own postMessage, which answers.
      this.loaded.then(() => window.postMessage.call(this.frame.contentWindow, message, "*"));
    }
    terminate() {
      removeEventListener("message", this.forward);
      this.frame.remove();
    }
  };
}
