/// The title of a replay among those that the program makes.
struct ReplayTitle: Equatable, Sendable {
  /// The replayer's name.
  let mode: String
  /// Counted from 1.
  let round: Int
  let rounds: Int

  /// The text in the form `serial, round 1 of 3`.
  var text: String { rounds > 1 ? "\(mode), round \(round) of \(rounds)" : mode }
}
