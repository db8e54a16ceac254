import Testing

@testable import DispatchStore

/// Which observers there are, and in which order, without threads.
struct ObserverListTests {
  private var list = ObserverList()
  private let observers = (0..<8).map { _ in ModelObserver { _ in } }

  init() {
    for (index, observer) in observers.enumerated() { list.append(observer, from: UInt64(index)) }
  }

  private var order: [UInt64] { list.slots.compactMap { $0?.firstVersion } }

  @Test mutating func theOthersKeepTheirOrderWhicheverAreRemoved() {
    for index in [3, 0, 7, 4] { list.remove(observers[index]) }
    #expect(order == [1, 2, 5, 6])
    for index in [5, 2] { list.remove(observers[index]) }
    #expect(order == [1, 6])
    list.append(observers[0], from: 9)
    #expect(order == [1, 6, 9])
    for index in [1, 6, 0] { list.remove(observers[index]) }
    #expect(list.isEmpty)
    #expect(list.slots.isEmpty)
  }

  @Test mutating func holesAreNeverMoreThanHalf() {
    for observer in observers {
      list.remove(observer)
      #expect(list.slots.count <= 2 * order.count)
    }
  }

  @Test mutating func oneThatWasRemovedIsNotRemovedAgain() {
    list.remove(observers[2])
    list.remove(observers[2])
    #expect(order == [0, 1, 3, 4, 5, 6, 7])
    for index in [0, 1, 3, 4] { list.remove(observers[index]) }
    list.remove(observers[2])
    #expect(order == [5, 6, 7])
  }
}
