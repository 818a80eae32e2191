// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroSupport

/// The file of `--trace` or `--trace-ascii`, to which all requests of a command line are written as they are sent.
final class TraceLog: Sendable {
  let text: TraceText
  private let descriptor: Int32
  private let ownsDescriptor: Bool
  private let failed = Lock<ResponseOutput.WriteFailure?>(nil)

  /// Opens the file, and empties it if it exists.
  ///
  /// - Parameter path: the path; `-` for standard output, `%` for standard error.
  init(_ path: String, style: TraceText.Style) throws(ResponseOutput.WriteFailure) {
    text = TraceText(style: style)
    switch path {
    case "-": (descriptor, ownsDescriptor) = (STDOUT_FILENO, false)
    case "%": (descriptor, ownsDescriptor) = (STDERR_FILENO, false)
    default:
      (descriptor, ownsDescriptor) = (WriteDeadline.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC), true)
    }
    guard descriptor >= 0 else { throw ResponseOutput.WriteFailure(path) }
  }

  deinit {
    if ownsDescriptor, descriptor >= 0 { close(descriptor) }
  }

  /// The first failure to write; nothing is written after it.
  var failure: ResponseOutput.WriteFailure? { failed.withLock { $0 } }

  /// Writes a text at once, so that those of parallel requests are not mixed.
  func write(_ text: String) {
    failed.withLock { failure in
      guard failure == nil, !text.isEmpty else { return }
      do throws(ResponseOutput.WriteFailure) {
        try ResponseOutput.writeAll(Data(text.utf8), to: descriptor)
      } catch {
        failure = error
        failure?.description = error.description.replacing("the body", with: "the trace")
      }
    }
  }
}
