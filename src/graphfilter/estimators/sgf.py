"""SGFClassifier: the adaptive stacked graph filter behind scikit-learn's interface."""

from __future__ import annotations

from graphfilter.estimators.adaptive import AdaptiveEstimator
from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.state import parameters


@parameters
class SGFClassifier(AdaptiveEstimator, VertexClassifier):
    """Label the vertices of a graph with a filter that is learned, not assumed.

    One setting fits graphs whose neighbours agree, disagree or neither. The defaults are the
    paper's; nothing about the graph needs to be known. A vertex has one class, or any of several
    labels where ``y`` is a table of 0 and 1.

    Parameters
    ----------
    graph : Graph, optional
        Bind the estimator to a graph with features. ``fit``, ``predict`` and ``score`` then take
        *vertex numbers* instead of X, so that ``cross_val_score`` and ``GridSearchCV`` can hide
        the labels of some vertices while the graph stays whole. Unknown labels are -1 there:
        scikit-learn itself refuses NaN when it stratifies (``np.nan_to_num(y, nan=-1)``).
    n_layers : int
        Depth of the stacked filter, the degree of its polynomial.
    hidden_size : int
        Width of the hidden layer.
    operator : {'auto', 'augmented_adjacency', 'adjacency', 'laplacian', 'coupling', \
'co_citation', 'channels'}
        The matrix of the graph that is filtered with. With 'channels' every edge type, and in a
        directed graph each direction, has a filter of its own
        (:class:`~graphfilter.models.ChannelNetwork`). 'auto' is 'augmented_adjacency'; where edges
        have directions or types both are trained, and the validation vertices decide.
    filter_init : float or 'uniform'
        Initial value of the filter's scalars, or drawn from [-1, 1].
    dropout : float, optional
        0.7, the paper's, for one class per vertex; 0.2 for several labels.
    dropout_on : {'linear', 'every_layer'}
        Dropout on the linear layers (the paper's text) or before every filter layer too (the
        authors' code).
    feature_scaling : {'auto', 'none', 'row', 'standardise'}
        See :class:`~graphfilter.models.views.FeatureScaler`.
    filter_learning_rate, learning_rate, filter_weight_decay, weight_decay : float
        For the filter's scalars and for the linear layers.
    max_epochs, patience, monitor
        See :class:`~graphfilter.training.TrainConfig`. The monitored score is otherwise accuracy,
        micro F1 of several labels, and average precision where one of two classes has less than a
        fifth of the training vertices, or ``positive`` is given.
    positive : class, optional
        The positive one of two classes, whose average precision may be monitored; default: the
        rarer one.
    validation_fraction : float
        Share of the labelled vertices set aside to choose the best epoch, where ``fit`` is given
        no split. 0 trains on all of them for ``max_epochs``.
    calibration_fraction : float
        Share of the validation vertices that choose nothing and only calibrate ``predict_set`` and
        ``predict_interval``, whose coverage is then exact. With 0 all of them do both; with fewer
        than some hundred the coverage is then a few points too low.
    class_weight : dict, 'balanced' or None
        Weights of the classes in the loss.
    n_members : int
        Networks trained from different seeds, side by side, whose probabilities are averaged.
    device : str
        'auto' uses a GPU if there is one.
    random_state : int, RandomState or None
    verbose : bool
        Log progress every two seconds, to the logger ``graphfilter`` or to standard error.

    Attributes
    ----------
    classes_ : array of the class names
    filter_ : Filter
        The learned filter of the first member: ``filter_.response(lam)``, ``.coefficients()``.
    filters_ : list of Filter, one per member
    history_ : dict of arrays
        Loss, accuracies and the filter's scalars by epoch, of the first member.
    results_ : list of FitResult, one per member
    outputs_ : array (n, n_classes)
        What training ended with for the vertices of the fitted graph; not kept when pickled.
    chosen_ : dict
        The values of parameters that were left open; ``notes_`` says how they were chosen.
    class_weights_ : array (n_classes,) or None
        The weight of each class in the loss.
    split_ : Split
        Which vertices were trained and validated on.
    system_ : System
        What was trained: network, operator and training config.
    graph_ : Graph
        The fitted graph, on which ``predict()`` without arguments works.
    prepared_ : Prepared
        That graph with its features scaled, on its device; not kept when pickled.
    encoder_ : TableEncoder or None
        How words, dates and gaps became features, where X was a DataFrame that has such.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_bipartite(n_side=60, probability=0.2, n_features=8, seed=0)
    >>> clf = gf.SGFClassifier(max_epochs=60, random_state=0)
    >>> clf = clf.fit(g.features, g.labels, graph=g)
    >>> clf.predict().shape
    (120,)
    """
