// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroEveryday

/// The flags for downloading the body to a file that appears only once it is complete.
struct DownloadFlags: ParsableArguments {
  @Option(
    help: """
      File for the body. It gets this name once it is complete, and replaces an existing file; until then the bytes \
      are in FILE.part. The download resumes after a lost connection.
      """)
  var download: String?
  @Option(
    name: [.customShort("C"), .customLong("continue-at")],
    help: """
      '-': resume where an earlier run ended, if the server still has the same file. With -o, -O or --download; the \
      bytes so far are in FILE.part.
      """)
  var continueAt: String?
  @Option(name: .customLong("expect-sha256"), help: "With --download: the file's SHA-256, in hexadecimal.")
  var expectSHA256: String?
  @Option(help: "With --download and '-C -': number of parts to download at the same time, 1 to 4. Default 1.")
  var segments: Int?

  func validate() throws {
    if let continueAt, continueAt != "-" {
      throw ValidationError("-C \(continueAt.onOneLine) is not supported; write '-C -' to resume where it was cut.")
    }
    if download != nil, segments ?? 1 > 1, continueAt == nil {
      throw ValidationError("--segments needs '-C -': a part left by several segments can only be resumed.")
    }
    guard download == nil else { return }
    for (name, isSet) in [
      ("--expect-sha256", expectSHA256 != nil), ("--segments", segments != nil),
    ] where isSet {
      throw ValidationError("\(name) needs --download FILE.")
    }
  }

  /// - Parameter limit: the value of `--max-body`.
  func options(limit: Int?) -> DownloadOptions {
    var options = DownloadOptions()
    options.resumes = continueAt != nil
    options.replaces = true
    options.maximumBytes = limit.map(Int64.init)
    options.sha256 = expectSHA256
    options.segments = segments ?? 1
    return options
  }
}
