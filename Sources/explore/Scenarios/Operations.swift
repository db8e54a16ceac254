import DispatchStore

extension Scenario {
  /// Operations that other threads finish, twice, or that are released unfinished.
  static let operations = Scenario(
    name: "operations",
    summary: "an operation ends once, however it ends, and its lane runs the next"
  ) { dispatcher, _ in
    let warnings = Shared([DispatchWarning.Kind]())
    dispatcher.onWarning { warning in warnings.append(warning.kind) }
    let waiting = Shared([RunningOperation<Journal, Entry>]())
    let store = dispatcher.makeJournal(
      "journal", late: { operation in waiting.append(operation) })
    let late = dispatcher.dispatch(action: Entry.late(1), mode: .serial)
    let abandoned = dispatcher.dispatch(action: Entry.late(2), mode: .serial)
    let failed = dispatcher.dispatch(action: Entry.fail(3), mode: .serial)
    let last = dispatcher.dispatch(action: Entry.note(4), mode: .serial)
    async let ending: Void = {
      while true {
        let operation = waiting.with { $0.popLast() }
        guard let operation else {
          if last.hasEnded { return }
          await Task.yield()
          continue
        }
        guard store.model.entries.last == 1 else { continue }
        async let first: Void = operation.finish()
        async let second: Void = operation.finish()
        async let update: Void? = operation.updateModel { $0.entries.append(10) }
        _ = await (first, second, update)
      }
    }()
    let results = [
      await late.result, await abandoned.result, await failed.result, await last.result,
    ]
    await ending
    try check(results[0].isSuccess, "\(results[0])")
    try check(!results[1].isSuccess, "an operation that was abandoned has finished")
    try check(!results[2].isSuccess, "an operation that threw has finished")
    try check(results[3].isSuccess, "\(results[3])")
    let entries = store.model.entries
    try check(entries.filter { $0 < 10 } == [1, 2, 4], "\(entries)")
    try check(warnings.now.count { $0 == .finishedTwice } == 1, "\(warnings.now)")
  }
}
