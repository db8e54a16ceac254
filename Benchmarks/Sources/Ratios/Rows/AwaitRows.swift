import BenchmarkSupport
import Dispatch
import DispatchStore
import Foundation

/// `await dispatcher.dispatch(…).result`, from a task.
enum AwaitRows {
  static let all = [idle, recent, lanes]

  /// A task dispatches a plain reduction to the default lane, on which nothing has happened for 2 ms,
  /// and awaits the result; the value is the median of 20 such waits.
  ///
  /// The floor adds a closure with the same reduction to an `OperationQueue` of width 1 that was idle
  /// as long, and waits: a thread by `waitUntilFinished`, and a task by a continuation that the closure
  /// resumes; whichever of the two was faster in that round.
  private static let idle = Row(
    "`await` a result, idle lane", floor: "addOperation and a wait, idle queue", bound: .times(3)
  ) { rounds in
    measure(rounds, waits: 20, pause: pause)
  }

  /// The same without the pause: the task dispatches again as soon as it has the result before, so the
  /// lane has run empty only just now; the median of 500 waits.
  ///
  /// The floor is the one above, an operation that has to wake its queue, which a lane in its spin wait saves.
  /// An `OperationQueue` that is used again at once is faster, too.
  private static let recent = Row(
    "`await` a result, lane empty for less than 20 µs",
    floor: "addOperation and a wait, idle queue", bound: .times(2)
  ) { rounds in
    measure(rounds, waits: 500, pause: nil)
  }

  /// A task dispatches to 1,000 lanes in turn, and awaits each result; the floor: to the default lane.
  private static let lanes = Row(
    "`await` a result, 1000 lanes in turn", floor: "the default lane", bound: .times(3)
  ) { rounds in
    Rounds.alternate(
      rounds, count: 5_000, floor: TaskCalls.results(Fixture(PlainReducer())),
      subject: TaskCalls.results(Fixture(PlainReducer()), lanes: 1_000))
  }

  private static let pause = 0.002

  private static func measure(_ rounds: Int, waits count: Int, pause: Double?) -> [Sample] {
    let fixture = Fixture(PlainReducer())
    let floor = floor()
    return Rounds.alternate(rounds, floor: floor) {
      Waits.inTask(count, pause: pause) {
        _ = await fixture.dispatcher.dispatch(action: Add(1), mode: .serial).result
      }
    }
  }

  private static func floor() -> () -> Double {
    let counter = LockedCounter()
    let queue = Floors.operationQueue(width: 1)
    return {
      let thread = Waits.onThread(20, pause: pause) {
        let operation = BlockOperation { counter.reduce(Add(1)) }
        queue.addOperation(operation)
        operation.waitUntilFinished()
      }
      let task = Waits.inTask(20, pause: pause) {
        await withUnsafeContinuation { continuation in
          queue.addOperation {
            counter.reduce(Add(1))
            continuation.resume()
          }
        }
      }

      return min(thread, task)
    }
  }
}
