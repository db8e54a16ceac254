/// A saved log, in a file or on standard input.
struct FileSource: ByteSource {
  let name: String
  private let descriptor: Descriptor

  static let standardInput = FileSource(
    name: "standard input", descriptor: .standardInput)

  private init(name: String, descriptor: Descriptor) {
    self.name = name
    self.descriptor = descriptor
  }

  init(path: String) throws(Failure) {
    name = path
    do {
      descriptor = try Descriptor.reading(path)
    } catch {
      throw Failure(.noInput, "cannot open the log '\(path)': \(error)")
    }
  }

  func reads(_ file: Descriptor) -> Bool { file.isSameFile(as: descriptor) }

  func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
    do {
      return try descriptor.read(into: &buffer)
    } catch {
      throw Failure(.noInput, "cannot read the log '\(name)': \(error)")
    }
  }
}
