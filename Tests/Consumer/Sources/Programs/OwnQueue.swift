import DispatchStore
import Foundation

/// Operations of a store in a user's queue, with a dependency between them.
func incrementThenMultiply(_ counter: Store<Counter, Counter.Action>) -> Int {
  let queue = OperationQueue()
  let first = ActionOperation(action: .increase, store: counter) { _, store in
    store.updateModel { $0.count += 1 }
  }
  let second = ActionOperation(action: .increase, store: counter) { _, store in
    store.updateModel { $0.count *= 10 }
  }
  second.addDependency(first)
  queue.addOperations([first, second], waitUntilFinished: true)
  return counter.model.count
}
