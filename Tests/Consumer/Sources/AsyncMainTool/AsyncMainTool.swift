import DispatchStore

/// A command-line tool with an `async` main, in which the main queue is served: prints 1, 2 and 3.
@main
struct AsyncMainTool {
  static func main() async throws {
    let counter = Dispatcher.default.register(store: Store(reducer: CounterReducer()))
    for mode in [Dispatcher.Mode.mainThread, .async, .sync] {
      try await counter.dispatch(.increase, mode: mode).get()
      print(counter.model.count)
    }
  }
}

struct Counter: ModelType {
  enum Action: ActionType { case increase }
  var count = 0
}

final class CounterReducer: Reducer<Counter, Counter.Action> {
  override func reduce(into model: inout Counter, action: Counter.Action) {
    model.count += 1
  }
}
