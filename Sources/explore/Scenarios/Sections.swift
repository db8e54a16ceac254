import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Dispatches from inside exclusive sections of an observed store, which several threads change.
  static let sections = Scenario(
    name: "sections",
    summary:
      "what is dispatched in an exclusive section is accepted once that is left, or cancelled"
  ) { dispatcher, _ in
    let source = dispatcher.makePlainJournal("source")
    let target = dispatcher.register(
      store: JournalStore(identifier: "target", reducer: JournalReducer()))
    let accepted = Shared([Int]())
    let handles = Shared([Int: DispatchHandle]())
    dispatcher.register(
      middleware: WillHook { _, action, store in
        guard store.identifier == "target", let number = (action as? Entry)?.number else {
          return .pass
        }
        // Stops the program while the section is held.
        _ = source.model
        accepted.append(number)
        // The dispatches of 2 cancel themselves, behind the dispatch that holds their lane.
        if number % 10 == 2 { handles[number]?.cancel() }
        return .pass
      })
    let token = source.observe(.model) { change in
      if change.value.entries.last == 1 { source.dispatch(.note(9), mode: .sync) }
    }
    @Sendable func change(_ number: Int) {
      source.updateModel { model in
        model.entries.append(number)
        for index in 1...3 {
          let handle = target.dispatch(.work(number * 10 + index), mode: .serial)
          handles[number * 10 + index] = handle
          if index == 3 { handle.cancel() }
        }
      }
    }
    async let holder = dispatcher.dispatch(
      storeIdentifier: "target", action: Entry.late(100), mode: .serial
    ).result
    async let first: Void = change(1)
    async let second: Void = change(2)
    _ = await (first, second, holder)
    for (number, handle) in handles.now.sorted(by: { $0.key < $1.key }) {
      let result = await handle.result
      let hasRun = target.model.entries.contains(number)
      try check(result.isSuccess == hasRun, "\(number) has run: \(hasRun), and ended as \(result)")
      switch number % 10 {
      case 1: try check(hasRun, "\(number) did not run: \(result)")
      case 2:
        try check(accepted.now.contains(number), "\(number) was not accepted")
        try check(!hasRun, "\(number) ran although it was cancelled before its start")
      default: try check(!hasRun && !accepted.now.contains(number), "\(number) was accepted")
      }
    }
    withExtendedLifetime(token) {}
  }
}
