/// How far a saved replay has come: each model has its own, since a kill may fall between two stores.
struct SavedProgress: Equatable, Codable, Sendable {
  /// The first commit of the history, by which a later run knows that it has the same one.
  let firstCommit: ByteString
  let copies: Int
  /// The number of the last event that the model has taken in, counted from 1.
  var taken = 0

  /// Whether it is about the same history as another one.
  func isOfSameHistory(as other: SavedProgress) -> Bool {
    firstCommit == other.firstCommit && copies == other.copies
  }
}

/// A model that can be saved in the middle of a replay.
protocol ResumableModel {
  /// Nil in a replay that is not saved.
  var progress: SavedProgress? { get set }
}

extension ResumableModel {
  /// Whether the model has still to take in the event with a number; from now on it has.
  mutating func begins(_ number: Int) -> Bool {
    guard let taken = progress?.taken else { return true }
    if number > taken { progress?.taken = number }
    return number > taken
  }
}
