import DispatchStore

/// The replayers that the command line selects.
enum Replayers {
  /// The plain loop comes first: its answers are the reference.
  static func all(
    for options: Options, recordedBy recorder: DispatchRecorder? = nil
  ) throws(Failure) -> [any Replayer] {
    let hooks = recorder.map { [Hook($0)] } ?? []
    let database: ReplayDatabase? =
      if let file = options.persisted { try .file(file) } else { nil }
    let dispatched = options.modes.map { mode in
      DispatchedReplay(
        mode: mode, inFlight: options.inFlight, producers: options.producers, hooks: hooks,
        database: database)
    }
    return [PlainLoop()] + dispatched
  }
}
