"""Deliberate faults, each with the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/graphfilter/"
RUN = ("tests/training/test_scores.py", "tests/training/test_training.py")
RULES = "patience or accuracies or monitored or diverges or class_weights"
RESUMED = "resumed or another_run"
OPTIMIZER = ("tests/training/test_optimizer.py",)
CHECKPOINTS = ("tests/training/test_damaged_checkpoints.py",)
DROPOUT = ("tests/models/test_dropout.py", "tests/models/test_network.py")
FILTERS = ("tests/filters", "tests/contracts/test_filter_contract.py")
OPERATORS = ("tests/operators/test_operators.py", "tests/operators/test_polynomial.py")
SPARSE = ("tests/operators/test_sparse.py",)
DAMAGED = ("tests/operators/test_damaged_structures.py",)
BENCH = ("tests/bench/test_pair.py", "tests/bench/test_runs.py", "tests/bench/test_matrix.py")
SUMMARY = ("tests/bench/test_summary.py",)
SPLITS = ("tests/splits",)
METRICS = ("tests/metrics", "src/graphfilter/metrics")
CLASSIFIER = "tests/estimators/test_sgf_classifier.py"
SYSTEMS = ("tests/systems/test_settings.py",)
COMMITTEE = ("tests/systems/test_committee.py",)
MONITORS = ("tests/training/test_monitors.py",)
POOLING = ("tests/systems/test_pooling.py",)
SAVING = ("tests/estimators/test_saving.py",)
KERNEL = ("tests/models/test_kernel.py",)
CHANNELS = ("tests/models/test_channels.py",)
VIEWS = ("tests/inputs/test_views.py",)
GRAPH = ("tests/graph", "tests/inputs", "tests/tables/test_labels.py")
SPECTRAL = ("tests/spectral", "src/graphfilter/spectral")
ESTIMATORS = ("tests/estimators/test_multilabel.py", CLASSIFIER)
TABLES = ("tests/tables/test_messy_tables.py",)


@dataclass(frozen=True)
class Fault:
    """One change to one file: the first occurrence of ``old`` becomes ``new``.

    ``only`` chooses among the tests by their names, as pytest's ``-k`` does.
    """

    what: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
    only: str = ""

    @property
    def file(self) -> str:
        return SOURCE + self.path

    def applies(self, root: Path) -> bool:
        path = root / self.file
        return path.is_file() and self.old in path.read_text(encoding="utf-8")

    def __str__(self) -> str:
        return f"{self.what} ({self.path})"


# fmt: off
FAULTS = (
    # The six that once passed the suite.
    Fault("no dropout on the head", "models/network.py",
          "(heads, filtered, first.rate, generators)", "(heads, filtered, 0.0, generators)",
          DROPOUT),
    Fault("dropout on the skipped H_0", "filters/stacked.py",
          "+ beta * x", "+ beta * dropout(x)", DROPOUT),
    Fault("dropout on the term w_0 x", "operators/polynomial.py",
          "total = weights[0] * x\n", "total = weights[0] * dropout(x)\n", DROPOUT),
    Fault("the filter is not decayed", "training/loop.py",
          "config.filter_weight_decay", "0.0", OPTIMIZER),
    Fault("the last epoch is scored", "systems/networks.py",
          "network.load_state_dict(result.state)", "pass", BENCH),
    Fault("GAT learns ten times as fast", "systems/peer_systems.py",
          "learning_rate=0.005", "learning_rate=0.05", SYSTEMS),
    Fault("GCNII decays a hundred times as much on Pubmed", "systems/peer_systems.py",
          '"pubmed": (64, 0.1, 0.5, 5e-6)', '"pubmed": (64, 0.1, 0.5, 5e-4)', SYSTEMS),
    # training
    Fault("linear layers are not decayed", "training/loop.py",
          '"weight_decay": config.weight_decay', '"weight_decay": 0.0', OPTIMIZER),
    Fault("one learning rate for all", "training/loop.py",
          "config.filter_learning_rate", "config.learning_rate", OPTIMIZER),
    Fault("patience counts from the start", "training/run.py",
          "elif self.learning:", "else:", RUN, RULES),
    Fault("patience is one epoch longer", "training/run.py",
          "self.waited >= self.patience", "self.waited > self.patience", RUN, RULES),
    Fault("patience does not start again", "training/run.py",
          "            self.waited = 0\n", "            pass\n", RUN, RULES),
    Fault("ties go to the higher loss", "training/run.py",
          "(val_score, -val_loss)", "(val_score, val_loss)", RUN, RULES),
    Fault("a lower loss restarts the patience", "training/run.py",
          "improved = score > self.best_score", "improved = True", RUN, RULES),
    Fault("the first of equal epochs is kept", "training/run.py",
          "if (score, tie_break) > (self.best_score, self.best_tie_break)",
          "if score > self.best_score", RUN, RULES),
    Fault("a run that diverges continues", "training/run.py",
          'self.stopped = "diverged"', "pass", RUN, RULES),
    Fault("the chance level ignores class weights", "training/tasks.py",
          "counts *= class_weight[: len(counts)]", "pass", RUN, RULES),
    Fault("training accuracy is scored on validation vertices", "training/epoch.py",
          "torch.stack([score[0], loss", "torch.stack([score[1], loss", RUN),
    Fault("validation loss is taken on training vertices", "training/epoch.py",
          "self._weights[1] * task.losses", "self._weights[0] * task.losses", RUN),
    Fault("scores are taken with dropout", "training/epoch.py",
          "model.eval()", "model.train()", RUN),
    Fault("class weights do not weigh the loss", "training/tasks.py",
          "return class_weight[targets.clamp(min=0)]", "return torch.ones(len(targets))",
          (f"{CLASSIFIER}::test_classifier_balanced_weights_raise_the_recall_of_a_rare_class",)),
    Fault("checkpoints forget the generators", "training/checkpoint.py",
          'generator.set_state(own.pop("generator"))', 'own.pop("generator")', RUN, RESUMED),
    Fault("checkpoints forget Adam's moments", "training/checkpoint.py",
          "self.optimizer.load_state_dict(", "(lambda state: None)(", RUN, RESUMED),
    Fault("checkpoints are taken for any run", "training/checkpoint.py",
          'or content.get("key") != self.key', "", RUN, RESUMED),
    Fault("shapes in checkpoints go unchecked", "training/checkpoint_checks.py",
          "if got.dtype != dtype or got.shape != shape:", "if got.dtype != dtype:", CHECKPOINTS),
    Fault("types in checkpoints go unchecked", "training/checkpoint_checks.py",
          "if got.dtype != dtype or got.shape != shape:", "if got.shape != shape:", CHECKPOINTS),
    Fault("counters in checkpoints go unchecked", "training/checkpoint_checks.py",
          "if json.dumps(played, sort_keys=True) != json.dumps(counters, sort_keys=True):",
          "if False:", CHECKPOINTS),
    # models
    Fault("dropout does not keep the mean", "models/layers.py",
          "2**16 / kept if kept else 0.0", "1.0", DROPOUT),
    Fault("no dropout on the encoder", "models/network.py",
          "(encoders, x, first.rate, generators)", "(encoders, x, 0.0, generators)", DROPOUT),
    Fault("prediction filters the bias too", "models/network.py",
          "logits - biases", "logits", DROPOUT),
    # filters
    Fault("the stack is read backwards", "filters/stacked.py",
          "alpha.flip(1).cumprod(1)", "alpha.cumprod(1)", FILTERS),
    Fault("beta_0 is not 1", "filters/stacked.py",
          "torch.cat([beta.flip(1), one], dim=1)", "torch.cat([beta.flip(1), 0 * one], dim=1)",
          FILTERS),
    Fault("the gradient of alpha leaves out the tails", "filters/stacked.py",
          "(tails[:, :-1] * rest).flip(1)", "rest.flip(1)", FILTERS),
    Fault("powers of the Laplacian are not rescaled", "filters/base.py",
          "(operator.radius**powers)", "(1**powers)", FILTERS),
    Fault("APPNP's last weight has the others' form", "filters/pagerank.py",
          "theta[:-1] *= alpha", "theta *= alpha", FILTERS),
    # operators
    Fault("Chebyshev polynomials are not doubled", "operators/polynomial.py",
          "step=2.0, back=1.0", "step=1.0, back=1.0", (*OPERATORS, *FILTERS)),
    Fault("the Chebyshev interval is not centred", "operators/polynomial.py",
          "-(high + low) / (high - low)", "0.0", (*OPERATORS, *FILTERS)),
    Fault("the gradient of the weights ignores the columns", "operators/polynomial.py",
          "against = x if ctx", "against = grad if ctx", OPERATORS),
    Fault("isolated vertices lose their signal", "operators/operator.py",
          "(structure, scale, isolated, 1.0,", "(structure, scale, 0 * isolated, 1.0,", OPERATORS),
    Fault("the Laplacian has another sign", "operators/operator.py",
          "1 - isolated, -1.0", "1 - isolated, 1.0", OPERATORS),
    Fault("no self loops in the augmented adjacency", "operators/operator.py",
          "scale.square(), 1.0", "0 * scale, 1.0", OPERATORS),
    Fault("asymmetric matrices are taken", "operators/operator.py",
          "if difference.nnz and", "if False and", DAMAGED),
    Fault("columns of another precision are taken", "operators/kernels/product_kernel.py",
          "or tensor.dtype != dtype", "", DAMAGED),
    Fault("columns of any shape are taken", "operators/kernels/product_kernel.py",
          "tensor.shape != shape\n            or ", "", DAMAGED),
    Fault("column numbers are not checked", "operators/kernels/factored_matrix.py",
          "if low < 0 or high >= self.n_columns:", "if False:", DAMAGED),
    Fault("offsets are not checked", "operators/kernels/factored_matrix.py",
          "if first != 0 or last != m or", "if", DAMAGED),
    Fault("the gradient of features has its values in another order", "operators/sparse.py",
          "values = values.index_select(1, self._order)", "pass", SPARSE),
    Fault("scratch memory follows torch's default type", "operators/kernels/native_kernel.py",
          "x.new_empty(n, stride) for", "torch.empty(n, stride) for",
          ("tests/operators/test_torch_modes.py",)),
    # bench
    Fault("every run has the first seed", "bench/pair.py",
          "seed=run,", "seed=0,", BENCH),
    Fault("every run has the first split", "bench/pair.py",
          "split_index=split_index(pair.split_rule, run)", "split_index=0", BENCH),
    Fault("max_epochs is ignored", "bench/pair.py",
          "if self.max_epochs is None:", "if True:", BENCH),
    Fault("runs on record are made again", "bench/pair.py",
          "if record.key not in pair.done", "if True", BENCH),
    Fault("the worst mean is the best", "bench/summary.py",
          "best = max(complete", "best = min(complete", SUMMARY),
    Fault("a model with fewer runs may win", "bench/summary.py",
          "if cells[model].n == most", "if True", SUMMARY),
    Fault("the higher log loss is better", "metrics/scores.py",
          '"log loss", lower_is_better=True', '"log loss"', SUMMARY),
    Fault("of a run recorded twice the first counts", "bench/summary.py",
          "last[record.key] = record", "last.setdefault(record.key, record)", SUMMARY),
    # splits
    Fault("splits ignore their seed", "splits/rules.py",
          "rng = np.random.default_rng(seed)", "rng = np.random.default_rng(0)", SPLITS),
    Fault("leftover vertices go to the test part", "splits/rules.py",
          "counts[order[:left]] += 1", "counts[2] += left", SPLITS),
    Fault("unlabelled vertices are drawn", "splits/rules.py",
          "np.unique(labels[labels >= 0])", "np.unique(labels)", SPLITS),
    Fault("parts may overlap", "splits/rules.py",
          "if len(shared):", "if False:", SPLITS),
    Fault("training counts differ by class", "splits/rules.py",
          "train = _join([m[:each] for m in shuffled])",
          "train = _join([m[: len(m) // 2] for m in shuffled])", SPLITS),
    # metrics
    Fault("the t-test forgets the overlap of splits", "metrics/significance.py",
          "(1 / len(d) + test_train_ratio)", "(1 / len(d))", METRICS),
    Fault("the t-test is one-sided", "metrics/significance.py",
          "return float(2 * student.sf(abs(d.mean())", "return float(student.sf(abs(d.mean())",
          METRICS),
    Fault("Holm's correction is not monotone", "metrics/significance.py",
          "np.maximum.accumulate(steps)", "steps", METRICS),
    Fault("calibration gaps cancel between bins", "metrics/scores.py",
          "np.abs(gaps).sum()", "abs(gaps.sum())", METRICS),
    Fault("macro-F1 weighs classes by size", "metrics/scores.py",
          '"average": "macro"', '"average": "weighted"', METRICS),
    Fault("intervals divide by n", "metrics/significance.py",
          "variance = deviation**2 * n / (n - 1)", "variance = deviation**2", METRICS),
    # Eight that an audit planted and the suite passed.
    Fault("weights of a committee are fitted on training vertices", "systems/committee_training.py",
          "logits[heard][:, split.val],\n            labels[split.val],",
          "logits[heard][:, split.train],\n            labels[split.train],", COMMITTEE),
    Fault("classes are sorted as text when loaded", "estimators/saving.py",
          'config["classes"]["names"]', 'sorted(config["classes"]["names"], key=str)', SAVING),
    Fault("the two highest bins of the calibration are one", "metrics/scores.py",
          "np.int64), n_bins - 1)", "np.int64), n_bins - 2)", METRICS),
    Fault("leaving one out ignores the weights of vertices", "models/kernel_ridge.py",
          "taken = (w * half", "taken = (1 * half", KERNEL),
    Fault("the prior believes p where 2p - 1 is meant", "systems/prior.py",
          "max(0.0, 2 * probability - 1)", "probability", COMMITTEE),
    Fault("the scaling of a ranked system is chosen on test vertices", "paper/committee_table.py",
          '_mean_score(runs, "val")), "test")', '_mean_score(runs, "test")), "test")',
          ("tests/paper/test_committee_table.py",)),
    Fault("the second cut of time ignores the first", "splits/by_use.py",
          "_nearest(changes[changes > first], wanted[1])", "_nearest(changes, wanted[1])", SPLITS),
    Fault("averages of more steps come first", "inputs/views.py",
          "found.append(columns)", "found.insert(0, columns)", VIEWS),
    # Thirty that were written before looking at the tests.
    Fault("frequencies are divided by the number of vertices", "spectral/rayleigh.py",
          "np.divide(form, norm, out=result, where=norm > 0)",
          "np.divide(form, len(norm) + 0 * norm, out=result, where=norm > 0)", SPECTRAL),
    Fault("isolated vertices have the frequency 1", "spectral/rayleigh.py",
          'np.einsum("i,ij,ij->j", connected, x, x)', "norm", SPECTRAL),
    Fault("pairs are expanded by (n_all / n)", "spectral/estimate.py",
          "(n_all - 1) / (n - 1)", "n_all / n", SPECTRAL),
    Fault("the jackknife forgets the finite population", "spectral/estimate.py",
          "(1 - n / n_all) * (n - 1) / n", "(n - 1) / n", SPECTRAL),
    Fault("a pair left out counts once", "spectral/estimate.py",
          "w - 2 * share_w", "w - share_w", SPECTRAL),
    Fault("the smaller weight of two directions is kept", "graph/edges.py",
          "one_way.maximum(reverse)", "one_way.minimum(reverse)", GRAPH),
    Fault("the label -1 is a class beside others", "tables/labels.py",
          "if known.any() and (values[known] == 1).all():", "if known.any():", GRAPH),
    Fault("a vertex is given two labels, and the last counts", "estimators/targets.py",
          "if len(twice):", "if False:", ESTIMATORS),
    Fault("numbers are standardised on all vertices", "estimators/targets.py",
          "self.values[train].mean(axis=0), self.values[train].std(axis=0)",
          "np.nanmean(self.values, axis=0), np.nanstd(self.values, axis=0)",
          ("tests/estimators/test_sgf_regressor.py",)),
    Fault("rows of X are matched the other way round", "estimators/alignment.py",
          "np.array([place[row] for row in rows])",
          "np.argsort([place[row] for row in rows])", ("tests/estimators/test_alignment.py",)),
    Fault("sparse columns are multiplied by their scale", "inputs/scaling.py",
          "sp.diags_array(1 / self.scale)", "sp.diags_array(self.scale)", GRAPH),
    Fault("places are not scaled by their singular values", "inputs/places.py",
          "[left * values]", "[left]", VIEWS),
    Fault("links to and from are exchanged", "graph/links.py",
          "[graph.out_links(), graph.in_links()]", "[graph.in_links(), graph.out_links()]", GRAPH),
    Fault("percents are read as whole numbers", "tables/numbers.py",
          "values / 100, values", "values, values", TABLES),
    Fault("numbers in brackets are positive", "tables/numbers.py",
          '["(", "-", "−", "–"]', '["-", "−", "–"]', TABLES),
    Fault("the threshold chosen is the farthest from one half", "metrics/thresholds.py",
          "best[np.abs(curve.thresholds[best] - 0.5).argmin()]",
          "best[np.abs(curve.thresholds[best] - 0.5).argmax()]", METRICS),
    Fault("costs of missed and false alarms are exchanged", "metrics/thresholds.py",
          "costs.missed * fn + costs.false_alarm * fp) / n,",
          "costs.missed * fp + costs.false_alarm * fn) / n,", METRICS),
    Fault("vertices at the threshold are not answered", "metrics/thresholds.py",
          "answered = scores >= threshold", "answered = scores > threshold", METRICS),
    Fault("McNemar's test counts all vertices", "metrics/significance.py",
          "binomtest(wins, wins + losses)", "binomtest(wins, len(a))", METRICS),
    Fault("ties count whole in the area under the curve", "training/monitors.py",
          "_counts(negative).gather(1, first) + _counts(negative).gather(1, last)",
          "2 * _counts(negative).gather(1, last)", MONITORS),
    Fault("absent classes lower the balanced accuracy", "training/monitors.py",
          "(scores * present).sum(1) / present.sum(1)", "(scores * present).mean(1)", MONITORS),
    Fault("each temperature is drawn to a half", "systems/pooling.py",
          "+ log_temperature**2", "+ (log_temperature + np.log(2)) ** 2", POOLING),
    Fault("members are pooled without their temperatures", "systems/pooling.py",
          "self.weights / self.temperatures, logits", "self.weights, logits", POOLING),
    Fault("decay grows with the labels", "systems/committee.py",
          "most = DECAY / max(n_train, 1)", "most = DECAY * max(n_train, 1)", COMMITTEE),
    Fault("repetitions share their seed", "systems/committee.py",
          "return seed if repeat == 0 else", "return seed if repeat < 2 else", COMMITTEE),
    Fault("dropout of hops differs from hop to hop", "models/hop_network.py",
          "hops.new_ones(len(hops), 1, hops.shape[2])", "torch.ones_like(hops)",
          ("tests/models/test_hop_network.py",)),
    Fault("every channel has the bias of the head", "models/channels.py",
          "bias if k == 0 else 0 * bias", "bias", (*CHANNELS, "tests/explain")),
    Fault("shares of channels are of the logits, not of their squares", "models/channels.py",
          ".double().square().sum())", ".double().abs().sum())", CHANNELS),
    Fault("a step of an explanation shows one step more", "explain/leaving_out.py",
          "(distance <= step)", "(distance <= step + 1)", ("tests/explain",)),
    Fault("the structure's share is measured from one vertex", "explain/leaving_out.py",
          "base = float((average @ direction).mean())",
          "base = float((average @ direction)[vertex])", ("tests/explain",)),
    Fault("of a run recorded twice the failed one counts", "bench/summary.py",
          "elif record.asked not in went_well:", "else:", SUMMARY),
    Fault("groups may be split between parts", "splits/by_use.py",
          "shares, np.random.default_rng(seed))[member]",
          "shares, np.random.default_rng(seed))[np.roll(member, 1)]", SPLITS),
)
# fmt: on
