// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroEveryday

/// The flags for downloading the body to a file that appears only once it is complete.
struct DownloadFlags: ParsableArguments {
  @Option(
    help: """
      File for the body, which has its name when all is there; one that is there is replaced. What comes stands in \
      FILE.part until then. A connection that is lost is gone on with.
      """)
  var download: String?
  @Option(
    name: [.customShort("C"), .customLong("continue-at")],
    help: """
      '-': go on where an earlier run was cut, if the server has the same file still. With -o, -O or --download: what \
      came stands in FILE.part.
      """)
  var continueAt: String?
  @Option(name: .customLong("expect-sha256"), help: "With --download: the file's SHA-256, in hexadecimal.")
  var expectSHA256: String?
  @Option(help: "With --download and '-C -': parts at the same time, 1 to 4. Default 1.")
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
    options.digest = expectSHA256.map { .sha256($0) }
    options.segments = segments ?? 1
    return options
  }
}
