import DispatchStore
import Testing

@Suite(.timeLimit(.minutes(10)))
struct PrintingHookTests {
  private let dispatcher = Dispatcher()

  @Test func linesNameStoreActionOutcomeVersionsDurationAndDispatch() async throws {
    let counter = dispatcher.register(store: .counter("counter"))
    let pages = Recorder<String>()
    dispatcher.register(.printing { pages.record($0) })
    let handle = counter.dispatch(.add(2))
    _ = await handle.result
    let lines = pages.all[0].split(separator: "\n")
    #expect(lines[0].hasPrefix("counter: add(2) finished, version 0 → 1, "))
    #expect(lines[0].hasSuffix(" µs, \(handle.dispatchID)"))
    #expect(lines[1] == "  count: 0 → 2")
    #expect(lines.count == 2)
  }

  @Test func writesWhatItsDetailsSay() async {
    let counter = dispatcher.register(store: .counter("counter"))
    let pages = Recorder<String>()
    for models in [true, false] {
      dispatcher.register(.printing(timing: false, models: models) { pages.record($0) })
    }
    _ = await counter.dispatch(.note("a\nb")).result
    _ = await counter.dispatch(.fail(1)).result
    #expect(
      pages.all == [
        """
        counter: note("a\\nb") finished, version 0 → 1
          notes[0]: nil → "a\\nb"

        """,
        """
        counter: note("a\\nb") finished, version 0 → 1
          old: Counter(count: 0, notes: [])
          new: Counter(count: 0, notes: ["a\\nb"])
          notes[0]: nil → "a\\nb"

        """,
        """
        counter: fail(1) failed: CounterFailure(amount: 1), version 1 → 2
          count: 0 → 1

        """,
        """
        counter: fail(1) failed: CounterFailure(amount: 1), version 1 → 2
          old: Counter(count: 0, notes: ["a\\nb"])
          new: Counter(count: 1, notes: ["a\\nb"])
          count: 0 → 1

        """,
      ])
  }
}
