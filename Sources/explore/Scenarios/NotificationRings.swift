import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Observers that wait for dispatches which change the observed stores, and completions that wait for more
  /// of those.
  static let notificationRings = Scenario(
    name: "notification-rings", summary: "no ring of delivery turns and handles closes"
  ) { dispatcher, _ in
    let first = dispatcher.makePlainJournal("first")
    let second = dispatcher.makePlainJournal("second", of: Echo.self)
    let completions = Shared([Int]())
    let (delivered, echoes) = (Shared([UInt64]()), Shared([UInt64]()))
    let tokens = [
      first.observe(.model) { change in
        delivered.append(change.version)
        let number = change.value.entries.last ?? 0
        guard number < 10 else { return }
        // The commit is deferred to this thread, the notifier: it runs the completion in its next wait.
        dispatcher.dispatch(action: Entry.note(number + 10), mode: .sync) {
          completions.append(number + 10)
          let next = dispatcher.dispatch(action: Echo(number + 20))
          dispatcher.dispatch(action: Entry.note(number + 30), mode: .sync, options: .after(next)) {
            completions.append(number + 30)
          }
        }
        let next = dispatcher.dispatch(action: Echo(number + 40))
        dispatcher.dispatch(action: Entry.note(number + 50), mode: .sync, options: .after(next)) {
          completions.append(number + 50)
        }
      },
      second.observe(.model) { change in
        echoes.append(change.version)
        let number = change.value.entries.last ?? 0
        guard number < 10 else { return }
        let next = dispatcher.dispatch(action: Entry.note(number + 60), mode: .serial)
        dispatcher.dispatch(action: Echo(number + 70), mode: .sync, options: .after(next)) {
          completions.append(number + 70)
        }
      },
    ]
    async let one = dispatcher.dispatch(action: Entry.note(1), mode: .sync).result
    async let two = dispatcher.dispatch(action: Echo(2), mode: .sync).result
    async let three = dispatcher.dispatch(action: Entry.note(3)).result
    for result in await [one, two, three] { try check(result.isSuccess, "\(result)") }
    // Dispatches of observers may still run on other threads.
    while completions.now.count < 7 { await Task.yield() }
    try check(
      completions.now.sorted() == [11, 13, 31, 33, 51, 53, 72], "completions \(completions.now)")
    let (entries, others) = (first.model.entries, second.model.entries)
    try check(
      entries.sorted() == [1, 3, 11, 13, 31, 33, 51, 53, 62], "first: \(entries)")
    try check(others.sorted() == [2, 21, 23, 41, 43, 72], "second: \(others)")
    try check(delivered.now == Array(1...9), "delivered \(delivered.now)")
    try check(echoes.now == Array(1...6), "echoes \(echoes.now)")
    for token in tokens { token.cancel() }
  }
}
