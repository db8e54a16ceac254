import DispatchStore
import Testing

private class Shape: ActionType, @unchecked Sendable {}  // because it has no properties
private class Circle: Shape, @unchecked Sendable {}
private final class Dot: Circle, @unchecked Sendable {}
private final class Square: Shape, @unchecked Sendable {}

@Suite(.timeLimit(.minutes(10)))
struct ActionSubclassTests {
  private let dispatcher = Dispatcher()

  private func add<Action: ActionType>(_ identifier: String, for type: Action.Type)
  where Action.Reply == Void {
    let reducer = ClosureReducer<[String], Action> { action, store in
      ActionOperation(action: action, store: store) { action, store in
        store.updateModel { $0.append("\(Swift.type(of: action))") }
      }
    }
    dispatcher.register(store: Store(identifier: identifier, model: [], reducer: reducer))
  }

  private func responders(to action: some ActionType, _ mode: Dispatcher.Mode) async -> [String] {
    await dispatcher.dispatch(action: action, mode: mode).result.stores.map(\.storeIdentifier)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aStoreAnswersToSubclassesOfItsActionType(mode: Dispatcher.Mode) async {
    add("circles", for: Circle.self)
    add("shapes", for: Shape.self)
    add("dots", for: Dot.self)
    #expect(await responders(to: Shape(), mode) == ["shapes"])
    #expect(await responders(to: Circle(), mode) == ["circles", "shapes"])
    #expect(await responders(to: Dot(), mode) == ["circles", "shapes", "dots"])
    #expect(await responders(to: Square(), mode) == ["shapes"])
    let shapes = dispatcher.store(with: "shapes") as? Store<[String], Shape>
    #expect(shapes?.model == ["Shape", "Circle", "Dot", "Square"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theStoresThatRespondFollowEachRegistration(mode: Dispatcher.Mode) async {
    add("shapes", for: Shape.self)
    #expect(await responders(to: Dot(), mode) == ["shapes"])
    // Registered after the first dispatch of its type.
    add("dots", for: Dot.self)
    #expect(await responders(to: Dot(), mode) == ["shapes", "dots"])
    add("shapes 2", for: Shape.self)
    #expect(await responders(to: Dot(), mode) == ["shapes", "dots", "shapes 2"])
    dispatcher.unregister(storeIdentifier: "dots")
    #expect(await responders(to: Dot(), mode) == ["shapes", "shapes 2"])
    dispatcher.unregister(storeIdentifier: "shapes")
    #expect(await responders(to: Dot(), mode) == ["shapes 2"])
    add("dots", for: Dot.self)
    #expect(await responders(to: Dot(), mode) == ["shapes 2", "dots"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aNamedStoreAnswersToASubclassToo(mode: Dispatcher.Mode) async {
    add("shapes", for: Shape.self)
    add("dots", for: Dot.self)
    let result = await dispatcher.dispatch(
      storeIdentifier: "shapes", action: Dot(), mode: mode
    ).result
    #expect(result.stores.map(\.storeIdentifier) == ["shapes"])
    let none = await dispatcher.dispatch(
      storeIdentifier: "dots", action: Circle(), mode: mode
    ).result
    #expect(!none.hasResponders)
  }
}
