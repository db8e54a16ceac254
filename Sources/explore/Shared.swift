import DispatchStore
import Foundation

/// A value behind a lock, for several threads of a scenario.
final class Shared<Value>: @unchecked Sendable {  // because `lock` guards the value
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) {
    self.value = value
  }

  @discardableResult
  func with<Result>(_ body: (inout Value) -> Result) -> Result {
    waitForLock()
    defer { lock.unlock() }
    return body(&value)
  }

  var now: Value { with { $0 } }

  /// Locks; a simulated thread yields meanwhile, since the one that has the lock may have come to a lock of the library.
  private func waitForLock() {
    guard let thread = currentSimulatedThread else { return lock.lock() }
    thread.lock("a lock of the scenario", ifFree: lock.try, unlock: lock.unlock)
  }
}

extension Shared<Int> {
  /// Adds a number, and returns the sum.
  func add(_ number: Int) -> Int {
    with {
      $0 += number
      return $0
    }
  }
}

extension Shared {
  func append<Element>(_ element: Element) where Value == [Element] {
    with { $0.append(element) }
  }

  /// Appends an element to the list of a key.
  func append<Key: Hashable, Element>(
    _ element: Element, at key: Key
  ) where Value == [Key: [Element]] {
    with { $0[key, default: []].append(element) }
  }

  subscript<Key: Hashable, Element>(key: Key) -> Element? where Value == [Key: Element] {
    get { with { $0[key] } }
    set { with { $0[key] = newValue } }
  }
}

extension Shared<[String]> {
  func note(_ fault: String) {
    with { $0.append(fault) }
  }
}

/// Counts what runs at the same time.
final class InFlight: Sendable {
  private let counts = Shared((now: 0, most: 0))

  var now: Int { counts.now.now }
  var most: Int { counts.now.most }

  /// Notes a begin; with a negative number an end.
  func note(_ number: Int) {
    counts.with { counts in
      counts.now += number > 0 ? 1 : -1
      counts.most = max(counts.most, counts.now)
    }
  }
}

/// Which number has which place, such as a lane or a key; one has it at a time.
final class Holders<Place: Hashable & Sendable>: Sendable {
  let faults = Shared([String]())
  private let state = Shared((holders: [Place: Int](), begun: [Int]()))

  /// The numbers that have begun, in order.
  var begun: [Int] { state.now.begun }

  /// Notes that a number begins, with places, or ends if it is negative.
  func note(_ number: Int, in places: [Place]) {
    state.with { state in
      if number > 0 { state.begun.append(number) }
      for place in places {
        if let other = state.holders[place], other != abs(number) {
          if number > 0 { faults.note("\(number) began in \(place), which \(other) has") }
        } else {
          state.holders[place] = number > 0 ? number : nil
        }
      }
    }
  }
}
