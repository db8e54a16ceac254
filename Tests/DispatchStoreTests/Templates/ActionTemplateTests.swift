import DispatchStore
import Foundation
import Testing

enum FetchTodos: ActionTemplate { typealias Payload = Int }
enum ClearTodos: ActionTemplate {}
enum RenameTodo: ActionTemplate {
  struct Payload: Sendable, Equatable { let id: Int, name: String }
  static var id: String { "todo/rename" }
}

@Suite(.timeLimit(.minutes(10)))
struct ActionTemplateTests {
  private let dispatcher = Dispatcher()

  @Test func makesActionsWithAndWithoutPayload() {
    #expect(FetchTodos.action(3).payload == 3)
    #expect(FetchTodos.action(3) == FetchTodos.action(3))
    #expect(FetchTodos.action(3) != FetchTodos.action(4))
    #expect(ClearTodos.action() == ClearTodos.action())
    #expect(RenameTodo.action(.init(id: 1, name: "a")).payload.name == "a")
  }

  private enum Nested: ActionTemplate {}

  @Test func hasItsTypesNameAsIdentifierUnlessItSaysOtherwise() {
    #expect(FetchTodos.action(3).id == "FetchTodos")
    #expect(RenameTodo.id == "todo/rename")
    #expect(Nested.id == "ActionTemplateTests.Nested")
    enum Local: ActionTemplate {}
    #expect(Local.id == "Local" || Local.id == "ActionTemplateTests.Local")
  }

  @Test func describesItsActionsByNameAndPayload() {
    #expect("\(FetchTodos.action(3))" == "FetchTodos(3)")
    #expect("\(ClearTodos.action())" == "ClearTodos()")
  }

  /// Only stores of a template's action type take part.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func routesActionsByTemplate(_ mode: Dispatcher.Mode) async {
    let fetched = dispatcher.register(
      store: Store(
        identifier: "fetched", model: [Int](),
        reducer: FunctionReducer<[Int], FetchTodos.Action> { $0.append($1.payload) }))
    let cleared = dispatcher.register(
      store: Store(
        identifier: "cleared", model: 0,
        reducer: FunctionReducer<Int, ClearTodos.Action> { count, _ in count += 1 }))
    let fetch = await dispatcher.dispatch(action: FetchTodos.action(3), mode: mode).result
    let clear = await dispatcher.dispatch(action: ClearTodos.action(), mode: mode).result
    #expect(fetch.stores.map(\.storeIdentifier) == ["fetched"])
    #expect(clear.stores.map(\.storeIdentifier) == ["cleared"])
    #expect(fetched.model == [3])
    #expect(cleared.version == 1)
  }
}
