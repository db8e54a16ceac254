/// At which ends of an interval a dispatch begins, of those that come within it: the first one, the last one, or both.
public enum RateEdges: Sendable, Hashable {
  /// The first one begins at once; those that follow within the interval are skipped.
  case leading
  /// The last one begins at the end of the interval; those before it are skipped.
  case trailing
  /// The first one begins at once, and the last one at the end, where there is another.
  case both

  var isLeading: Bool { self != .trailing }
  var isTrailing: Bool { self != .leading }
}
