// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Checkup {
  /// The files needed to build with Lastro besides Swift, by their package names on Debian and Ubuntu. Running needs
  /// none of them.
  private static let developmentFiles: [(package: String, header: String, user: String)] = [
    ("libcurl4-openssl-dev", "curl/curl.h", "LastroCurl"),
    ("libssl-dev", "openssl/ssl.h", "Lastro"),
    ("zlib1g-dev", "zlib.h", "Lastro"),
    ("libnghttp2-dev", "nghttp2/nghttp2.h", "LastroCurl"),
  ]

  mutating func developmentFiles() {
    let folders = Self.headerFolders()
    for (package, header, user) in Self.developmentFiles {
      if let folder = folders.first(where: { FileManager.default.fileExists(atPath: "\($0)/\(header)") }) {
        note("ok", "\(package): \(header) in \(folder)")
      } else {
        note("--", "no \(header): packages that use \(user) do not build here; install \(package)")
      }
    }
  }

  /// Returns the folders that compilers search, including Debian's per-architecture folders.
  private static func headerFolders() -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/include")) ?? []
    let ofArchitectures = names.filter { $0.contains("-linux-gnu") }.sorted().map { "/usr/include/\($0)" }
    return ["/usr/local/include", "/usr/include"] + ofArchitectures
  }
}
