/// The replays that the command line asks for.
enum Replayers {
  /// The plain loop comes first: its answers are the reference.
  static func all(for options: Options) -> [any Replayer] {
    [PlainLoop()]
  }
}
