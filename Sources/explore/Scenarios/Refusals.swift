import DispatchStore

extension Scenario {
  /// Waits inside `.sync` dispatches for lanes that their callers hold.
  static let refusals = Scenario(
    name: "refusals",
    summary: "a wait for a lane that its callers hold is refused, and no other one"
  ) { dispatcher, _ in
    let store = dispatcher.makeJournal("journal")
    dispatcher.makeJobs()
    let ends = Shared([Int]())
    // Awaits a dispatch in the default lane; notes its number, or the negative one if that is refused.
    @Sendable func wait(_ number: Int) -> Job {
      .suspends {
        let result = await dispatcher.dispatch(action: Entry.work(number), mode: .serial).result
        ends.append(result.isSuccess ? number : -number)
      }
    }
    // Dispatches an action that waits, by `.sync`.
    @Sendable func nest(_ number: Int) { dispatcher.dispatch(action: wait(number), mode: .sync) }
    // All wait for dispatches in the default lane, which the first two hold.
    async let first = dispatcher.dispatch(action: Job.runs { nest(1) }, mode: .serial).result
    // From inside the completion of another dispatch.
    async let second = dispatcher.dispatch(
      action: Job.runs { dispatcher.dispatch(actions: [], mode: .sync) { nest(2) } }, mode: .serial
    ).result
    async let third = dispatcher.dispatch(
      action: Job.runs { nest(3) }, mode: .serial(lane: "x")
    ).result
    async let fourth = dispatcher.dispatch(action: Job.runs { nest(4) }, mode: .mainThread).result
    for result in await [first, second, third, fourth] { try check(result.isSuccess, "\(result)") }
    _ = await dispatcher.dispatch(action: Entry.note(5), mode: .serial).result
    try check(ends.now.sorted() == [-2, -1, 3, 4], "\(ends.now): refused")
    try check(store.model.entries.sorted() == [1, 2, 3, 4, 5], "\(store.model.entries)")
  }
}
