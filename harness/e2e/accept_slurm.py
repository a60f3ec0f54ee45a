#!/usr/bin/env python3
"""`proctor slurm accept` on two nodes of a Slurm on this host, one of which has a broken device."""

import os
import subprocess

from harness import check, run_scenarios
from slurm_cluster import Cluster


def accept(sandbox, cluster, *arguments):
    command = ["salloc", "--nodes=2", "--exclusive", *sandbox.command("slurm", "accept", "--out", sandbox.path / "nodes", "--",
                                                                     "--level", 1, "--sim", "cuda:2", *arguments)]
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **cluster.env}, cwd=sandbox.path, timeout=300)


def broken_node_is_named(sandbox):
    prolog = sandbox.path / "prolog.sh"
    prolog.write_text('#!/bin/sh\n[ "$SLURMD_NODENAME" != node2 ] || echo export PROCTOR_SIM_FAULTS=sysman.remap_failed:dev=1\n')
    prolog.chmod(0o755)
    with Cluster(nodes=2, gpus=4, extra=[f"TaskProlog={prolog}"]) as cluster:
        done = accept(sandbox, cluster)
    check(done.returncode == 1 and "--exclude=node2\n" in done.stdout, done.returncode, done.stdout)
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("node")}
    check("passed" in rows["node1"] and "failed" in rows["node2"], done.stdout)
    check("cuda-sim:1" in rows["node2"] and "not proven: the fabric" in done.stdout, done.stdout)


def failing_node_gives_no_verdict(sandbox):
    prolog = sandbox.path / "prolog.sh"
    prolog.write_text('#!/bin/sh\n[ "$SLURMD_NODENAME" != node1 ] || echo export PROCTOR_SIM_FAULTS=no.such_fault\n')
    prolog.chmod(0o755)
    with Cluster(nodes=2, extra=[f"TaskProlog={prolog}"]) as cluster:
        done = accept(sandbox, cluster)
    check(done.returncode == 3 and "--exclude=node1\n" in done.stdout, done.returncode, done.stdout)
    check("it returned no verdict" in done.stdout, done.stdout)


run_scenarios([broken_node_is_named, failing_node_gives_no_verdict])
