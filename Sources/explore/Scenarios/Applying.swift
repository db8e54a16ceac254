import DispatchStore

extension Scenario {
  /// Stores that read others before they change, with observers that are added meanwhile and that dispatch.
  static let applying = Scenario(
    name: "applying",
    summary: "apply reads a settled store, and its commit is delivered before the dispatch ends"
  ) { dispatcher in
    let source = dispatcher.makePlainJournal("source")
    let copy = dispatcher.register(
      store: Store<Journal, Entry>(identifier: "copy", reducer: CopyingReducer(source)),
      waitFor: ["source"])
    let echo = dispatcher.register(
      store: Store<Journal, Echo>(identifier: "echo", reducer: ApplyingEchoReducer()))
    let delivered = Shared([String: [UInt64]]())
    let faults = Shared([String]())
    let tokens = Shared([ObserverToken]())
    tokens.with {
      $0 = [
        copy.observe(.model) { change in
          delivered.with { $0["copy", default: []].append(change.version) }
          if change.action?.number != change.value.entries.last || change.dispatchID == nil {
            faults.note("\(change.action as Any) came with \(change.value.entries)")
          }
          dispatcher.dispatch(action: Echo.of(change.value.entries.last ?? 0), mode: .sync)
        }
      ]
    }
    await withTaskGroup { group in
      for number in 1...3 {
        group.addTask {
          let mode: Dispatcher.Mode = [.sync, .serial, .async][number - 1]
          if number == 2 {
            let late = echo.observe(.model) { change in
              delivered.with { $0["late", default: []].append(change.version) }
            }
            tokens.with { $0.append(late) }
          }
          let handle = dispatcher.dispatch(action: Entry.note(number), mode: mode)
          let result = await handle.result
          if !result.isSuccess { faults.note("\(result)") }
          if !copy.model.entries.contains(number) { faults.note("\(number) is missing") }
          if delivered.now["copy", default: []].isEmpty {
            faults.note("\(number) ended before delivery")
          }
        }
        group.addTask { dispatcher.dispatch(action: Echo.of(10 + number), mode: .sync) }
      }
    }
    let (copies, echoes, versions) = (copy.model.entries, echo.model.entries, delivered.now)
    try check(faults.now.isEmpty, "\(faults.now)")
    try check(copies.sorted() == [1, 2, 3], "copied \(copies)")
    try check(echoes.sorted() == [1, 2, 3, 11, 12, 13, 21, 22, 23], "echoes \(echoes)")
    try check(versions["copy"] == [1, 2, 3], "delivered \(versions)")
    let late = versions["late", default: []]
    try check(late.isEmpty || late == Array((10 - UInt64(late.count))...9), "late \(late)")
    for token in tokens.now { token.cancel() }
  }
}

/// Adds an action's number to its store once the source store has it.
private final class CopyingReducer: Reducer<Journal, Entry> {
  private let source: Store<Journal, Entry>

  init(_ source: Store<Journal, Entry>) { self.source = source }

  override func apply(_ action: Entry, to store: Store<Journal, Entry>) throws {
    guard source.model.entries.contains(action.number) else { throw Refused() }
    store.dispatcher?.dispatch(action: Echo.of(20 + action.number), mode: .sync)
    store.updateModel { $0.entries.append(action.number) }
  }
}

private final class ApplyingEchoReducer: Reducer<Journal, Echo> {
  override func apply(_ action: Echo, to store: Store<Journal, Echo>) {
    guard case .of(let number) = action else { return }
    store.updateModel { $0.entries.append(number) }
  }
}
