// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroHAR
import LastroSupport

/// The file of a ``Cassette``.
struct CassetteFile: Sendable {
  private let path: String

  init(_ path: String, besides sourceFile: String) {
    let folder = URL(filePath: sourceFile).deletingLastPathComponent()
    self.path = path.hasPrefix("/") ? path : folder.appending(path: path).path
  }

  private var name: String { "the cassette \(path.onOneLine)" }

  var texts: HARPlayer.Texts {
    HARPlayer.Texts(
      name: name, notRecordedHint: "delete the file to record it again, or correct the request",
      incompleteHint: "record a smaller response, or test it with a server on this machine")
  }

  /// Returns the archive; `nil` if there is no file.
  func read() throws(ConfigurationError) -> HAR? {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ConfigurationError("the path of a cassette is empty or contains a NUL", hint: "give the path of a file")
    }
    let text: String?
    do throws(PrivateFile.Failure) {
      text = try PrivateFile(path).read(isOwn: false)
    } catch {
      throw ConfigurationError("\(name) cannot be read: \(Self.reason(error).text)", hint: Self.reason(error).hint)
    }
    guard let text else { return nil }
    do throws(ConfigurationError) {
      return try HAR(json: Data(text.utf8))
    } catch {
      throw ConfigurationError("\(name): \(error.message)", hint: "delete the file to record it again")
    }
  }

  /// Replaces the file.
  func write(_ archive: HAR) throws(TransportError) {
    do {
      // Creating the folder fails where a file has its name, and so does writing.
      let folder = URL(filePath: path).deletingLastPathComponent()
      try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try PrivateFile(path).replace(with: String(decoding: archive.json(), as: UTF8.self))
    } catch {
      let reason = Self.reason(error)
      throw TransportError(
        stage: .request, code: .incompleteRecording, message: "\(name) cannot be written: \(reason.text)",
        hint: reason.hint, requestSent: true)
    }
  }

  /// Returns the error for a file that is missing or has expired, while nothing may be recorded.
  func refusal(age: Int?, limit: Int?) -> ConfigurationError {
    let hint = "run the test where the environment variable CI is not set, and commit the file"
    guard let age, let limit else {
      return ConfigurationError("\(name) does not exist, and nothing is recorded here", hint: hint)
    }
    return ConfigurationError(
      "\(name) was recorded \(age) days ago, which is more than \(limit), and nothing is recorded here", hint: hint)
  }

  private static func reason(_ error: any Error) -> (text: String, hint: String) {
    switch error as? PrivateFile.Failure {
    case .system(let words, let reason, let hint): ("\(words): \(reason)", hint)
    case .unfit: ("it is not a regular file of at most \(PrivateFile.maximumBytes >> 20) MiB", "name another file")
    case .notText: ("it is not UTF-8", "delete the file to record it again")
    case .tooLarge(let bytes):
      (
        "it would have \(bytes) bytes, and at most \(PrivateFile.maximumBytes) are allowed",
        "record fewer or smaller responses, with a cassette for each test"
      )
    case nil: ("\(error)", "check that its directory exists and may be written to")
    }
  }
}
