import Foundation

/// A folder that is removed with its last reference.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "/churn-tests-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
  }

  /// Writes a file, and returns its path.
  @discardableResult
  func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
    let url = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(bytes).write(to: url)
    return url.path
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: "\(path)/\(name)")
  }
}
