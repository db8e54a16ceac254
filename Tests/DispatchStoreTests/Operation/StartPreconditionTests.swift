import DispatchStore
import Foundation
import Testing

struct StartPreconditionTests {
  @Test func startingBeforeItsDependenciesHaveFinishedStopsTheProgram() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let operation = ActionOperation(action: .add(1), store: CounterStore.counter("till")) {
        _, store in store.updateModel { $0.count += 1 }
      }
      operation.addDependency(BlockOperation {})
      operation.start()
    }
    #expect(
      result.message.contains("The operation for add(1) in store \"till\" can't be started yet"))
  }

  @Test func aCancelledOneNeedNotWaitForItsDependencies() {
    let store = CounterStore.counter()
    let operation = ActionOperation(action: .add(1), store: store) { _, store in
      store.updateModel { $0.count += 1 }
    }
    operation.addDependency(BlockOperation {})
    operation.cancel()
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(store.model.count == 0)
  }

  @Test func startingOneThatIsInAQueueStopsTheProgram() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let queue = OperationQueue()
      queue.isSuspended = true
      let operation = ActionOperation(action: .add(1), store: CounterStore.counter("till")) {
        _, store in store.updateModel { $0.count += 1 }
      }
      queue.addOperation(operation)
      operation.start()
    }
    #expect(result.message.contains("The operation for add(1) in store \"till\" is in a queue"))
  }

  @Test func addingOneThatAReducerReturnedToAQueueStopsTheProgram() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let (dispatcher, queue) = (Dispatcher(), OperationQueue())
      dispatcher.addStage("till")
      let script = Script.answers("returned") { action, store in
        Script.Operation(action: action, store: store) { operation, _, _ in
          queue.addOperation(operation.operation)
          operation.finish()
        }
      }
      _ = await dispatcher.dispatch(action: script).result
    }
    #expect(
      result.message.contains(
        "The operation for returned in store \"till\" was returned by a reducer"))
  }
}
