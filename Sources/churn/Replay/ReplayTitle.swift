/// Which replay it is, of those that the program makes.
struct ReplayTitle: Equatable, Sendable {
  /// The replayer's name.
  let mode: String
  /// Counted from 1.
  let round: Int
  let rounds: Int

  /// As `serial, round 1 of 3`.
  var text: String { rounds > 1 ? "\(mode), round \(round) of \(rounds)" : mode }
}
