"""Deliberate faults, each with the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/graphfilter/"
RUN = ("tests/training/test_scores.py", "tests/training/test_training.py")
TASKS = ("tests/training/test_tasks.py",)
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
TOLD = ("tests/models/test_told.py",)
FOLDING = ("tests/splits/test_folding.py",)
FOLDS = ("tests/systems/test_folds.py",)
GROWTH = ("tests/systems/test_growth.py",)
HELD_OUT = ("tests/estimators/test_held_out.py",)
START = ("tests/estimators/test_start_from.py",)


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
    Fault("the filter is not decayed", "training/optimizer.py",
          '"weight_decay": config.filter_weight_decay', '"weight_decay": 0.0', OPTIMIZER),
    Fault("the last epoch is scored", "systems/networks.py",
          "network.load_state_dict(result.state)", "pass", BENCH),
    Fault("GAT learns ten times as fast", "systems/peer_systems.py",
          "learning_rate=0.005", "learning_rate=0.05", SYSTEMS),
    Fault("GCNII decays a hundred times as much on Pubmed", "systems/author_systems.py",
          '"pubmed": (64, 0.1, 0.5, 5e-6)', '"pubmed": (64, 0.1, 0.5, 5e-4)',
          ("tests/systems/test_author_settings.py",)),
    # training
    Fault("linear layers are not decayed", "training/optimizer.py",
          '"weight_decay": config.weight_decay', '"weight_decay": 0.0', OPTIMIZER),
    Fault("one learning rate for all", "training/optimizer.py",
          "config.filter_learning_rate", "config.learning_rate", OPTIMIZER),
    Fault("patience counts from the start", "training/run.py",
          "elif self.learning:", "else:", RUN, RULES),
    Fault("patience is one epoch longer", "training/run.py",
          "self.waited >= max(", "self.waited > max(", RUN, RULES),
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
    Fault("training accuracy is scored on validation vertices", "training/vertices.py",
          "torch.stack([score[0], loss", "torch.stack([score[1], loss", TASKS),
    Fault("validation loss is taken on training vertices", "training/vertices.py",
          "self._weights[1] * task.losses", "self._weights[0] * task.losses", TASKS),
    Fault("compiled scores of training and validation vertices are exchanged",
          "training/cross_entropy.py",
          "added.flatten(0, 1)[1:]", "added.flatten(0, 1)[[3, 0, 1]]", RUN),
    Fault("scores are taken with dropout", "training/epoch.py",
          "self._set_training(False)", "self._set_training(True)", RUN),
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
    Fault("dropout does not keep the mean", "operators/dropout.py",
          "2**16 / kept if kept else 0.0", "1.0", DROPOUT),
    Fault("no dropout on the encoder", "models/network.py",
          "(layers, hidden, first.rate, generators", "(layers, hidden, 0.0, generators", DROPOUT),
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
          "values = values.index_select(1, order)", "pass", SPARSE),
    Fault("scratch memory follows torch's default type", "operators/kernels/native_kernel.py",
          "room = x.new_empty(", "room = torch.empty(",
          ("tests/operators/test_torch_modes.py",)),
    # bench
    Fault("every run has the first seed", "bench/pair.py",
          "seed=run,", "seed=0,", BENCH),
    Fault("every run has the first split", "bench/pair.py",
          "split_index=split_index(pair.split_rule, run)", "split_index=0", BENCH),
    Fault("max_epochs is ignored", "bench/pair.py",
          "return system.limited(self.max_epochs)", "return system", BENCH),
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
          "own[order[:left]] += 1", "own[2] += left", SPLITS),
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
    Fault("weights of a committee are fitted on training vertices", "systems/committee_outcome.py",
          "labelled = split.val if", "labelled = split.train if", COMMITTEE),
    Fault("classes are sorted as text when loaded", "estimators/saved_model.py",
          "np.array(self.names, dtype", "np.array(sorted(self.names, key=str), dtype", SAVING),
    Fault("the two highest bins of the calibration are one", "metrics/scores.py",
          "np.int64), n_bins - 1)", "np.int64), n_bins - 2)", METRICS),
    Fault("leaving one out ignores the weights of vertices", "models/kernel_ridge.py",
          "taken = (w * half", "taken = (1 * half", KERNEL),
    Fault("the prior believes p where 2p - 1 is meant", "systems/prior.py",
          "max(0.0, 2 * probability - 1)", "probability", COMMITTEE),
    Fault("the scaling of a ranked system is chosen on test vertices", "paper/committee_table.py",
          '_mean_score(runs, "val")), "test")', '_mean_score(runs, "test")), "test")',
          ("tests/paper/test_committee_table.py",)),
    Fault("the second cut of time ignores the first", "splits/rules.py",
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
    Fault("numbers are standardised on all vertices", "estimators/regressor.py",
          "else TargetScale.fit(y[split.train], name)",
          "else TargetScale.fit(y[np.isfinite(y)], name)",
          ("tests/estimators/test_sgf_regressor.py",)),
    Fault("rows of X are matched the other way round", "estimators/alignment.py",
          "np.array([place[row] for row in rows])",
          "np.argsort([place[row] for row in rows])", ("tests/estimators/test_alignment.py",)),
    Fault("sparse columns are multiplied by their scale", "inputs/scaling.py",
          "sp.diags_array(1 / self.scale)", "sp.diags_array(self.scale)", GRAPH),
    Fault("places are not scaled by their singular values", "inputs/places.py",
          "left, _, right = singular(sp.csr_array(scales[0] @ weights @ scales[1]))",
          "left, values, right = singular(sp.csr_array(scales[0] @ weights @ scales[1]))\n"
          "        left, right = left / values, right / values", VIEWS),
    Fault("links to and from are exchanged", "inputs/links.py",
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
          "_counts(other).gather(1, first) + _counts(other).gather(1, last)",
          "2 * _counts(other).gather(1, last)", MONITORS),
    Fault("absent classes lower the balanced accuracy", "training/monitors.py",
          "(scores * present).sum(1) / present.sum(1)", "(scores * present).mean(1)", MONITORS),
    Fault("each temperature is drawn to a half", "systems/pooling.py",
          "+ log_temperature**2", "+ (log_temperature + np.log(2)) ** 2", POOLING),
    Fault("members are pooled without their temperatures", "systems/pooling.py",
          "return self.weights / self.temperatures", "return self.weights", POOLING),
    Fault("decay grows with the labels", "systems/committee.py",
          "DECAY / max(n_train, 1)", "DECAY * max(n_train, 1)", COMMITTEE),
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
    Fault("groups may be split between parts", "splits/rules.py",
          "shares, np.random.default_rng(seed))[member]",
          "shares, np.random.default_rng(seed))[np.roll(member, 1)]", SPLITS),
    # Of networks that are told labels, and of folds: written before looking at the tests.
    Fault("labels that are hidden in a step are still seen", "models/told.py",
          "others = told * (~hidden)[:, :, None]", "others = told", TOLD),
    Fault("the loss is taken on vertices whose labels are seen", "models/told.py",
          "return hidden, hidden / share", "return hidden, ~hidden / share", TOLD),
    Fault("hidden vertices weigh the same whatever their share", "models/told.py",
          "return hidden, hidden / share", "return hidden, hidden.float()", TOLD),
    Fault("no step hides all labels", "models/told.py",
          "torch.where(numbers[0] < ALL_HIDDEN, 1.0, HIDDEN)",
          "torch.full_like(numbers[0], HIDDEN)", TOLD),
    Fault("the answer for every second told vertex sees its own label", "models/told.py",
          "(second, known & ~second)", "(second,)", TOLD),
    Fault("known vertices are told labels in the order of the fitted graph", "models/told.py",
          "= self.told[places[places >= 0]]", "= self.told[: int((places >= 0).sum())]", TOLD),
    Fault("networks are told of validation vertices too", "systems/networks.py",
          "network.tell(known, torch.tensor(split.train, device",
          "network.tell(known, torch.tensor(np.append(split.train, split.val), device",
          (*TOLD, *FOLDS)),
    Fault("a network that starts from another is told its labels", "systems/start.py",
          'if name == "told"}', 'if name == ""}', (*TOLD, *START)),
    Fault("each network learns and validates as the next one should", "systems/committee_member.py",
          "self._foldings[split].splits[repeat]",
          "self._foldings[split].splits[(repeat + 1) % N_FOLDS]", FOLDS, "by_heart"),
    Fault("splits by group have folds too", "systems/committee.py",
          "            by_chance = split.is_random\n", "            by_chance = True\n", FOLDS),
    Fault("the answer is that of the next fold's network", "systems/committee_part.py",
          "[held[rows], rows]", "[(held[rows] + 1) % len(answers), rows]", FOLDS),
    Fault("members are weighed by answers of networks that saw the label",
          "systems/committee_part.py",
          "outputs = without_own_labels([run.probabilities for run in learned], held)",
          "outputs = [run.probabilities for run in learned]", FOLDS),
    Fault("members with folds are weighed on validation vertices alone",
          "systems/committee_outcome.py", "if held_out is None else", "if True else", FOLDS),
    Fault("a kernel that is fitted again learns from the fold it held out",
          "systems/committee_part.py",
          "(self.held != NO_FOLD) & (self.held != run)", "self.held != NO_FOLD",
          (*FOLDS, *GROWTH)),
    Fault("members are weighed for another graph by what they say knowing labels",
          "systems/growth.py",
          "run.network.recognising(nothing)", "run.network", (*GROWTH, *FOLDS)),
    Fault("classes are not divided evenly among folds", "splits/folds.py",
          "key=lambda f: (counts[f], totals[f])", "key=lambda f: totals[f]", FOLDING),
    Fault("folds are drawn anew where some are kept", "splits/folds.py",
          "if kept is not None:", "if False:", FOLDING),
    Fault("folds of the earlier fit are forgotten by the next", "estimators/starting.py",
          "return Start(networks, places, held)", "return Start(networks, places)",
          (*HELD_OUT, *START)),
    Fault("networks with folds go on where their vertices are not known", "estimators/starting.py",
          "Start(networks if held_before is None else ())", "Start(networks)",
          (*HELD_OUT, *START)),
    Fault("known vertices of a grown graph are answered for by all networks",
          "estimators/asking.py",
          "return np.where(numbers >= 0, self.held_[numbers], NO_FOLD).astype(np.int8)",
          "return None", HELD_OUT),
    Fault("new vertices of a grown graph are in the last vertex's fold", "estimators/asking.py",
          "np.where(numbers >= 0, self.held_[numbers], NO_FOLD)", "self.held_[numbers]", HELD_OUT),
    Fault("every kind of network answers as the first does", "estimators/members.py",
          "without_own_labels(answers[at : at + of_kind], held)",
          "without_own_labels(answers[:of_kind], held)", HELD_OUT),
    Fault("an explanation counts the networks that saw the label", "estimators/members.py",
          "return N_FOLDS if member.held_fold == fold else 0", "return 1", HELD_OUT),
)
# fmt: on
