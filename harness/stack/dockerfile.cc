#include "harness/stack/dockerfile.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "harness/base/words.h"

namespace proctor {
namespace {

struct Line {
  std::string text;
  int number = 0;
};

// Returns whether the word separates shell commands. WordCutter returns a separator as its own word.
bool is_separator(const std::string& word) {
  static const std::set<std::string> kSeparators = {";", "&&", "||", "|", "&", "(", ")", "\n"};
  return kSeparators.contains(word);
}

bool is_blank_or_comment(const std::string& line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string::npos || line[first] == '#';
}

std::vector<Line> split_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    lines.push_back({std::string(text.substr(at, end - at)), static_cast<int>(lines.size()) + 1});
    at = end + 1;
  }
  return lines;
}

// Splits lines into words as a shell does. Quotes are removed and nothing is expanded. If `separators` is true,
// separators are words too.
class WordCutter {
 public:
  explicit WordCutter(bool separators) : separators_(separators) {}

  void add(const Line& line) {
    number_ = line.number;
    for (std::size_t at = 0; at < line.text.size(); ++at) take(line.text, at);
    if (quote_ == 0) {
      finish();
    } else {
      word_.text += '\n';
    }
  }
  void separate() {
    finish();
    words_.push_back({"\n", number_});
  }
  std::vector<DockerWord> words() {
    finish();
    return std::move(words_);
  }

 private:
  void take(const std::string& text, std::size_t& at) {
    const char c = text[at];
    if (quote_ != 0) {
      if (c == quote_) {
        quote_ = 0;
      } else {
        put(c);
      }
    } else if (c == '"' || c == '\'') {
      begin();
      quote_ = c;
    } else if (text.compare(at, 2, "$(") == 0 || text.compare(at, 2, "<(") == 0) {
      nested_ += 1;
      put(c);
      put(text[++at]);
    } else if (nested_ > 0) {  // inside $(...) or <(...), which is part of one word
      if (c == ')') nested_ -= 1;
      put(c);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      finish();
    } else if (separators_ && std::string_view(";&|()").find(c) != std::string_view::npos) {
      separator(text, at);
    } else {
      put(c);
    }
  }

  void separator(const std::string& text, std::size_t& at) {
    const char c = text[at];
    if (c == '&' && !word_.text.empty() && word_.text.back() == '>') return put(c);  // 2>&1
    finish();
    const bool doubled = (c == '&' || c == '|') && text.compare(at, 2, std::string(2, c)) == 0;
    words_.push_back({std::string(doubled ? 2 : 1, c), number_});
    if (doubled) ++at;
  }

  void begin() {
    if (!open_) word_ = {"", number_};
    open_ = true;
  }
  void put(char c) {
    begin();
    word_.text += c;
  }
  void finish() {
    if (open_) words_.push_back(std::move(word_));
    open_ = false;
    word_ = {};
  }

  bool separators_;
  int number_ = 0;
  char quote_ = 0;
  int nested_ = 0;
  bool open_ = false;
  DockerWord word_;
  std::vector<DockerWord> words_;
};

bool is_assignment(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && equals > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

bool stands_before_a_command(const std::string& word) {
  static const std::set<std::string> kWords = {"sudo", "env", "exec", "time", "if",    "then", "else",
                                               "elif", "do",  "!",    "{",    "while", "until"};
  return kWords.contains(word) || is_assignment(word);
}

std::vector<DockerCommand> commands_of(const std::vector<DockerWord>& words);

// Adds the commands of `sh -c TEXT`, whose text is a script.
void add_script_of_shell(const DockerCommand& command, std::vector<DockerCommand>& commands) {
  static const std::set<std::string_view> kShells = {"sh", "bash", "dash", "/bin/sh", "/bin/bash"};
  if (!kShells.contains(command.name())) return;
  for (std::size_t at = 1; at + 1 < command.words.size(); ++at) {
    const std::string& option = command.words[at].text;
    if (option.size() < 2 || option[0] != '-' || option[1] == '-' || option.back() != 'c') continue;
    WordCutter cutter(true);
    for (Line& line : split_lines(command.words[at + 1].text)) {
      cutter.add({line.text, command.words[at + 1].line});
      cutter.separate();
    }
    for (auto& inner : commands_of(cutter.words())) commands.push_back(std::move(inner));
    return;
  }
}

std::vector<DockerCommand> commands_of(const std::vector<DockerWord>& words) {
  std::vector<DockerCommand> commands;
  DockerCommand current;
  const auto finish = [&] {
    if (!current.words.empty()) {
      commands.push_back(current);
      add_script_of_shell(current, commands);
    }
    current = {};
  };
  for (const auto& word : words) {
    if (is_separator(word.text)) {
      finish();
      current.reads_pipe = word.text == "|";
    } else if (!current.words.empty() || !stands_before_a_command(word.text)) {
      current.words.push_back(word);
    }
  }
  finish();
  return commands;
}

// Returns the word after `<<`, or "".
std::string heredoc_end(const std::string& line) {
  const auto at = line.find("<<");
  if (at == std::string::npos || line.compare(at, 3, "<<<") == 0) return {};
  std::string end;
  for (std::size_t i = at + 2; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '-' && end.empty()) continue;
    if (c == '"' || c == '\'') continue;
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') break;
    end += c;
  }
  return end;
}

// One instruction with all its lines: continuation lines without the backslash, then the lines of a heredoc.
struct Raw {
  std::vector<Line> lines;
  std::vector<Line> heredoc;
};

bool strip_continuation(std::string& text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t')) text.pop_back();
  if (text.empty() || text.back() != '\\') return false;
  text.pop_back();
  return true;
}

std::vector<Raw> instructions_of(const std::vector<Line>& lines) {
  std::vector<Raw> all;
  for (std::size_t at = 0; at < lines.size();) {
    if (is_blank_or_comment(lines[at].text)) {
      ++at;
      continue;
    }
    Raw raw;
    std::string end;
    for (bool more = true; more && at < lines.size(); ++at) {
      if (!raw.lines.empty() && is_blank_or_comment(lines[at].text))
        continue;  // allowed inside a continuation
      Line line = lines[at];
      more = strip_continuation(line.text);
      if (end.empty()) end = heredoc_end(line.text);
      raw.lines.push_back(std::move(line));
    }
    for (; !end.empty() && at < lines.size(); ++at) {
      const auto first = lines[at].text.find_first_not_of('\t');
      if (first != std::string::npos && lines[at].text.substr(first) == end) {
        ++at;
        break;
      }
      raw.heredoc.push_back(lines[at]);
    }
    all.push_back(std::move(raw));
  }
  return all;
}

// Converts the exec form ["sh", "-c", "..."] to shell words: removes brackets and commas and keeps the quoted words.
void unpack_exec_form(std::vector<Line>& lines) {
  const auto first = lines.empty() ? std::string::npos : lines.front().text.find_first_not_of(" \t");
  if (first == std::string::npos || lines.front().text[first] != '[') return;
  for (Line& line : lines) {
    char quote = 0;
    for (char& c : line.text) {
      if (c == '"') quote = quote == 0 ? c : 0;
      if (quote == 0 && (c == '[' || c == ']' || c == ',')) c = ' ';
    }
  }
}

// Removes the keyword and the flags after it from the lines. Each of these words is on a single line.
DockerInstruction head_of(std::vector<Line>& lines) {
  DockerInstruction instruction;
  instruction.line = lines.front().number;
  for (Line& line : lines) {
    for (;;) {
      const auto begin = line.text.find_first_not_of(" \t");
      if (begin == std::string::npos) break;  // continue on the next line
      const auto end = std::min(line.text.find_first_of(" \t", begin), line.text.size());
      const std::string word = line.text.substr(begin, end - begin);
      if (!instruction.keyword.empty() && !word.starts_with("--")) return instruction;
      line.text.erase(0, end);
      if (instruction.keyword.empty()) {
        instruction.keyword = upper_case(word);
      } else {
        instruction.flags.push_back({word, line.number});
      }
    }
  }
  return instruction;
}

DockerInstruction parse(Raw raw) {
  DockerInstruction instruction = head_of(raw.lines);
  unpack_exec_form(raw.lines);
  const bool is_run = instruction.keyword == "RUN";
  WordCutter cutter(is_run);
  for (const Line& line : raw.lines) cutter.add(line);
  if (is_run && !raw.heredoc.empty()) cutter.separate();
  for (const Line& line : raw.heredoc) {
    cutter.add(line);
    if (is_run) cutter.separate();
  }
  instruction.words = cutter.words();
  if (is_run) instruction.commands = commands_of(instruction.words);
  return instruction;
}

}  // namespace

bool DockerCommand::has(std::string_view word) const {
  return std::any_of(words.begin(), words.end(), [&](const auto& own) { return own.text == word; });
}

std::vector<DockerInstruction> parse_dockerfile(std::string_view text) {
  std::vector<DockerInstruction> instructions;
  for (Raw& raw : instructions_of(split_lines(text))) instructions.push_back(parse(std::move(raw)));
  return instructions;
}

}  // namespace proctor
