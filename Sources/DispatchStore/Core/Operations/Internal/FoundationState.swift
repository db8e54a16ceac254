import Foundation

#if !canImport(ObjectiveC)
  @_spi(Reflection) private import Swift
#endif

/// The place where Foundation for Linux stores an operation's state in its queue, for which there is no public
/// property.
///
/// The state is one byte, which Foundation writes under a lock of its own, so a value read here may be out of date.
/// The byte is found by the field's name. If there is no such field, nothing is checked. Tests show that it exists.
struct FoundationState: Sendable {
  /// The phases, named as in Foundation.
  enum Phase: String {
    /// The operation is being added to a queue.
    case enqueuing
    /// The queue has not come to it.
    case enqueued
    /// The queue has a place for it.
    case dispatching
  }

  private let offset: Int
  /// The phases by the byte's value.
  private let phases: [UInt8: Phase]

  #if !canImport(ObjectiveC)
    /// `_EachFieldOptions.classType`, which is a variable.
    private static let ofClass: UInt32 = 1

    static let found: FoundationState? = {
      var found: FoundationState?
      _ = _forEachField(of: Operation.self, options: .init(rawValue: ofClass)) {
        name, offset, type, _ in
        guard String(cString: name) == "__state" else { return true }
        found = FoundationState(offset, of: type)
        return false
      }
      return found
    }()
  #endif

  private init?<Value>(_ offset: Int, of type: Value.Type) {
    guard MemoryLayout<Value>.size == 1 else { return nil }
    self.offset = offset
    var phases: [UInt8: Phase] = [:]
    // The phases are among the first cases, whose values are consecutive.
    for byte in UInt8(0)..<8 where phases.count < 3 {
      let name = String(describing: withUnsafeBytes(of: byte) { $0.load(as: Value.self) })
      phases[byte] = Phase(rawValue: name)
    }
    guard phases.count == 3 else { return nil }
    self.phases = phases
  }

  /// Returns the phase of an operation; nil if it is in no queue, or was started.
  func phase(of operation: Operation) -> Phase? {
    let object = Unmanaged.passUnretained(operation).toOpaque()
    return phases[object.load(fromByteOffset: offset, as: UInt8.self)]
  }
}
