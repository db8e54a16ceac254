/// How far a saved replay has come: each model has its own, since a kill may fall between two stores.
struct SavedProgress: Equatable, Codable, Sendable {
  /// The first commit of the history, by which a later run knows that it has the same one.
  let firstCommit: ByteString
  let copies: Int
  /// The last commit that the model has taken in, which names all before it; nil if it takes in no commits.
  var lastCommit: ByteString?
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
  ///
  /// - Parameter commit: The commit that ends with the event, if it is the end of one.
  mutating func begins(_ number: Int, endOf commit: ByteString? = nil) -> Bool {
    guard let taken = progress?.taken else { return true }
    guard number > taken else { return false }
    progress?.taken = number
    if let commit { progress?.lastCommit = commit }
    return true
  }
}
