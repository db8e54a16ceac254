import DispatchStore

struct Raise: ActionType, Equatable { var by = 1 }
struct Lower: ActionType { var by = 1 }
struct Fetch: ActionType { let amount: Int }
struct Price: ActionType {
  typealias Reply = String
  let item: String
}
struct Broken: Error {}

struct Desktop: ModelType, Equatable {
  struct Drawer: Equatable, Sendable { var papers = 0 }
  var raised = 0
  var drawer = Drawer()
  var secret: Drawer?
}

typealias DesktopStore = HandlerStore<Desktop>

extension Dispatcher {
  /// Whose warnings are of no interest to the test.
  static var withoutReports: Dispatcher {
    let dispatcher = Dispatcher()
    dispatcher.onWarning { _ in }
    return dispatcher
  }

  func addDesktop(
    _ identifier: String = "desktop", waitFor: WaitFor = [], ownership: StoreOwnership = .strong,
    @ListBuilder<Handlers<Desktop>> _ handlers: () -> [Handlers<Desktop>]
  ) -> DesktopStore {
    register(
      store: Store(identifier: identifier, model: Desktop(), handlers: handlers),
      waitFor: waitFor, ownership: ownership)
  }
}
