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
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) } ?? ""
    #expect(message.contains("The operation for add(1) in store \"till\" can't be started yet"))
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
}
