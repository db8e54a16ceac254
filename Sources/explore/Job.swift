import DispatchStore
import Foundation

extension Dispatcher {
  func makeJobs() {
    makeStore("jobs", of: Job.self) { $0.operation(in: $1) }
  }
}

/// An action that carries what its store is to do.
enum Job: ActionType {
  case runs(@Sendable () -> Void)
  case suspends(@Sendable () async throws -> Void)
  /// An operation with an `async` block that others may depend on, by its number.
  case makes(Int, Shared<[Int: Foundation.Operation]>, @Sendable () async -> Void)
  /// An operation that depends on others.
  case depends(on: @Sendable () -> [Foundation.Operation])
  /// An operation with a number, on which others may depend, and that depends on the one of another number.
  case links(Int, Shared<[Int: Foundation.Operation]>, on: Int)

  func operation(in store: Store<Journal, Job>) -> ActionOperation<Journal, Job> {
    switch self {
    case .runs(let body):
      return ActionOperation(action: self, store: store) { _, _ in body() }
    case .suspends(let body):
      return ActionOperation(action: self, store: store) { _, _ async throws in try await body() }
    case .makes(let number, let made, let body):
      let operation = ActionOperation(action: self, store: store) { _, _ async in await body() }
      made[number] = operation
      return operation
    case .depends(let operations):
      let operation = ActionOperation(action: self, store: store) { _, _ in }
      for dependency in operations() { operation.addDependency(dependency) }
      return operation
    case .links(let number, let made, let other):
      let operation = ActionOperation(action: self, store: store) { _, _ in }
      made[number] = operation
      if let dependency = made[other] { operation.addDependency(dependency) }
      return operation
    }
  }
}
