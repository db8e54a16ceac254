import DispatchStore

/// Two stores that respond to the same action; `right` waits for `left`.
struct PairedStores: Sendable {
  let dispatcher = Dispatcher()
  let left: ProbeStore
  let right: ProbeStore
  let events: Recorder<String>

  init(style: OperationStyle = .returning, fails: Bool = false) {
    events = Recorder()
    left = dispatcher.addProbe("left", style: style, to: events)
    right = dispatcher.addProbe(
      "right", waitFor: [left], style: style, fails: fails, to: events)
  }
}

/// Two stores whose counts are equal, but while an action is between them.
struct EqualStores: Sendable {
  let dispatcher = Dispatcher()
  let left: CounterStore
  let right: CounterStore

  init() {
    left = dispatcher.register(store: .counter("left"))
    right = dispatcher.register(store: .counter("right"), waitFor: [left])
  }
}
