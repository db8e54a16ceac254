import Testing

@testable import DispatchStore

/// Where the runtime keeps task-local values: the address distinguishes child tasks from others.
@Suite("Facts about task-local values", .timeLimit(.minutes(10)))
struct TaskLocalFactTests {
  @TaskLocal static var value = "none"
  @TaskLocal static var other = 0

  private var address: UInt { TaskLocalAddress.current(of: Self.$value) }

  /// Binds a value, and calls the closure with its address.
  private func bind(_ body: (UInt) async -> Void) async {
    await Self.$value.withValue("bound") {
      let bound = address
      #expect(bound != 0)
      await body(bound)
      await Task.yield()
      #expect(address == bound)
    }
  }

  @Test func childTasksFindItAtTheirParentsAddress() async {
    await bind { bound in
      async let child = address
      #expect(await child == bound)
      await Self.$other.withValue(1) {
        await withTaskGroup { group in
          group.addTask { address }
          group.addTask(executorPreference: globalConcurrentExecutor) { address }
          group.addTask {
            async let grandchild = address
            return await grandchild
          }
          for await place in group { #expect(place == bound) }
        }
      }
      await MainActor.run { #expect(address == bound) }
    }
  }

  @Test func unstructuredTasksHaveACopyOfIt() async {
    await bind { bound in
      #expect(await Task { address }.value != bound)
      #expect(await Task.detached { address }.value == 0)
      Self.$value.withValue("again") { #expect(address != bound) }
    }
    #expect(address == 0)
  }

  @Test func whatIsBoundInTheBodyOfATaskGroupIsCopiedToChildTasks() async {
    #expect(!TaskLocalAddress.isCopied)
    await withDiscardingTaskGroup { group in
      #expect(TaskLocalAddress.isCopied)
      await bind { bound in
        async let child = address
        #expect(await child != bound)
      }
      group.addTask {
        #expect(!TaskLocalAddress.isCopied)
        await bind { bound in
          async let child = address
          #expect(await child == bound)
        }
      }
    }
  }
}
