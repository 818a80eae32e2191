// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro

/// Counts a body, hashes it if its digest is reported, and writes it to a descriptor or keeps it in memory.
final class ResponseOutput {
  struct WriteFailure: Error, CustomStringConvertible {
    var description: String
    /// Whether the limit of `-m` passed during the write.
    var isTimeout = false
  }

  /// The way in which JSON is indented.
  enum Indentation {
    case plain
    case colored
  }

  enum Target {
    case nowhere
    case memory
    case descriptor(Int32)
  }

  private(set) var count: Int64 = 0
  private(set) var kept = Data()
  /// The way in which a JSON body is indented; `nil` to write it as it comes.
  var indentsJSON: Indentation?
  /// The JSON that is to be indented; `nil` if bodies are written as they come.
  private var held: Data?
  /// The maximum size of a body that is indented.
  private static let maximumHeld = 4 << 20
  private let target: Target
  /// The hasher; `nil` if nobody sees the digest, which takes as long as the transfer of a large file.
  private let hasher: MessageHasher?

  init(_ target: Target, hashes: Bool) {
    self.target = target
    hasher = hashes ? try? MessageHasher() : nil
  }

  func write(_ chunk: Data) throws(WriteFailure) {
    count += Int64(chunk.count)
    hasher?.update(chunk)
    if let last = chunk.last { endsLine = last == 0x0A }
    if var body = held {
      held = nil
      body.append(chunk)
      guard body.count > Self.maximumHeld else {
        held = body
        return
      }
      return try put(body)
    }
    try put(chunk)
  }

  /// Writes bytes that are neither counted nor hashed, such as a head before a body.
  func put(_ chunk: Data) throws(WriteFailure) {
    switch target {
    case .nowhere: break
    case .memory: kept.append(chunk)
    case .descriptor(let descriptor): try Self.writeAll(chunk, to: descriptor)
    }
  }

  /// Prepares for a body of a content type.
  func prepareForBody(ofType contentType: String?) {
    guard indentsJSON != nil, held == nil, let contentType else { return }
    let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
    if type == "application/json" || type.hasSuffix("+json") { held = Data() }
  }

  /// Writes what is held back.
  func writeHeldBody() throws(WriteFailure) {
    guard let body = held else { return }
    held = nil
    guard let text = PrettyJSON.text(of: Array(body), isColored: indentsJSON == .colored) else { return try put(body) }
    endsLine = true
    try put(Data(text))
  }

  /// Whether the last byte ended a line, or nothing has been written.
  private(set) var endsLine = true

  func hexDigest() -> String? { try? hasher?.digest().hexadecimal }

  static func writeAll(_ data: Data, to descriptor: Int32) throws(WriteFailure) {
    var rest = data[...]
    while !rest.isEmpty {
      let piece = rest.prefix(try WriteDeadline.wait(for: descriptor))
      let written = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          try WriteDeadline.waitAfterRefusal(of: descriptor)
          continue
        }
        throw WriteFailure(description: "cannot write the body: \(String(cString: strerror(errno)))")
      }
      rest = rest.dropFirst(written)
    }
  }
}
