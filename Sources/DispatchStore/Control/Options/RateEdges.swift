/// The ends of an interval at which a dispatch begins: its first one, its last one, or both.
public enum RateEdges: Sendable, Hashable {
  /// The first dispatch begins at once; later ones within the interval are skipped.
  case leading
  /// The last dispatch begins at the end of the interval; earlier ones are skipped.
  case trailing
  /// The first dispatch begins at once, and the last one at the end, if there is another.
  case both

  var isLeading: Bool { self != .trailing }
  var isTrailing: Bool { self != .leading }
}
