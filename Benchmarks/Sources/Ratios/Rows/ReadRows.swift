import BenchmarkSupport
import DispatchStore
import Foundation
import Synchronization

/// Reads of a store that is being changed.
enum ReadRows {
  static let all = [published]

  private static let readers = 8

  /// 8 threads read the model of a store with published reads, of which another thread changes an element every
  /// microsecond or so.
  ///
  /// The floor: as many threads load a reference, and read an element of the object; another thread changes, as often, which of
  /// two objects it is. Both stay alive, or a reader could get one that is being freed: what a publication is for. A
  /// read is a thread's time for one, where each had a processor.
  private static let published = Row(
    "a published read, 8 readers and a writer", floor: "load of a reference", bound: .times(5)
  ) { rounds in
    let store = Store<[Int], NoAction>(
      model: Array(0..<8), reads: .published, reducer: Reducer())
    let reference = Reference()
    return Rounds.alternate(rounds) {
      time(read: { reference.element }, write: { reference.change() })
    } subject: {
      time(read: { store.model[3] }, write: { store.updateModel { $0[3] &+= 1 } })
    }
  }

  /// The time of a read.
  private static func time(
    read: @escaping @Sendable () -> Int, write: @escaping @Sendable () -> Void
  ) -> Double {
    let each = 100_000
    let left = Counting(readers)
    let pause = BusyWork.iterations(microseconds: 1)
    let nanoseconds = Producers.nanoseconds(readers + 1) { index in
      guard index < readers else {
        while left.isPositive {
          write()
          BusyWork.run(pause)
        }
        return
      }
      for _ in 0..<each where read() < 0 { fatalError("Not a value that was written.") }
      left.subtractOne()
    }
    let processors = min(readers, ProcessInfo.processInfo.activeProcessorCount)
    return nanoseconds * Double(processors) / Double(each * readers)
  }
}

private enum NoAction: ActionType { case none }

private final class Counting: Sendable {
  private let left: Atomic<Int>

  init(_ count: Int) {
    left = Atomic(count)
  }

  var isPositive: Bool { left.load(ordering: .relaxed) > 0 }
  func subtractOne() { left.subtract(1, ordering: .relaxed) }
}

/// A reference that is changed while threads load it.
private final class Reference: Sendable {
  private final class Elements: Sendable {
    let elements = Array(0..<8)
  }

  private let objects = (Elements(), Elements())
  private let current: Atomic<Unmanaged<Elements>>

  init() {
    current = Atomic(.passUnretained(objects.0))
  }

  var element: Int {
    @inline(never)
    get { current.load(ordering: .acquiring).takeUnretainedValue().elements[3] }
  }

  func change() {
    let isFirst =
      current.load(ordering: .relaxed).toOpaque() == Unmanaged.passUnretained(objects.0).toOpaque()
    current.store(.passUnretained(isFirst ? objects.1 : objects.0), ordering: .releasing)
  }
}
