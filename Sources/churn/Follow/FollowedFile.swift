import Foundation

/// The file to which answers are written while they change.
///
/// Once a write has failed nothing more is written, and `failure` says why.
final class FollowedFile: @unchecked Sendable {
  // Unchecked because: its changing state is only touched while `lock` is held.
  private let path: String
  let descriptor: Descriptor
  private let lock = NSLock()
  private var wasEmptied = false
  private var firstFailure: Failure?

  /// Opens a file, and creates it if there is none; its contents are replaced when the first line is written.
  init(path: String) throws(Failure) {
    self.path = path
    do {
      descriptor = try Descriptor.writing(path)
    } catch {
      throw Failure(.cannotCreate, "cannot make the file to follow, '\(path)': \(error)")
    }
  }

  /// Writes whole lines.
  func write(_ lines: String) {
    if lines.isEmpty { return }
    lock.withLock {
      guard firstFailure == nil else { return }
      do throws(SystemError) {
        if !wasEmptied { try descriptor.truncate() }
        wasEmptied = true
        try descriptor.write(Array(lines.utf8).span)
      } catch {
        firstFailure = Failure(.ioError, "cannot write to the file to follow, '\(path)': \(error)")
      }
    }
  }

  /// Throws the failure of a write, if one has failed.
  func check() throws(Failure) {
    if let failure = lock.withLock({ firstFailure }) { throw failure }
  }
}
