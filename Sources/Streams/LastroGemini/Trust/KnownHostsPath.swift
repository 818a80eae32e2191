// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroSupport

/// Resolution of the path of a known-hosts file.
enum KnownHostsPath {
  /// The maximum number of chained links, which equals that of the kernel.
  private static let maximumLinks = 40

  /// Returns the path behind symbolic links, so that writing preserves the links. The target need not exist yet.
  static func resolved(_ path: String) throws(ConfigurationError) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ConfigurationError("the path of the known hosts is empty or has a NUL", hint: "name a file")
    }
    var path = path
    for _ in 0..<maximumLinks {
      if let real = realpath(path, nil) {
        defer { free(real) }
        return String(cString: real)
      }
      guard errno == ENOENT, let target = try linked(path) else { return path }
      path = target.utf8.first == UInt8(ascii: "/") ? target : directory(of: path) + target
    }
    throw ConfigurationError(.unwritable("cannot resolve", ELOOP), path)
  }

  /// Returns the target of a symbolic link; `nil` for other files.
  private static func linked(_ path: String) throws(ConfigurationError) -> String? {
    var isLink = false
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { space, count in
      let result = space.withMemoryRebound(to: CChar.self) { space in
        space.baseAddress.map { readlink(path, $0, space.count) } ?? -1
      }
      isLink = result >= 0
      count = max(0, result)
    }
    guard isLink else { return nil }
    guard let target = String(validating: bytes, as: UTF8.self) else {
      throw ConfigurationError("\(path) links to a path that is not UTF-8", hint: "name the file itself")
    }
    return target
  }

  /// Returns the directory with its trailing slash; empty if there is none.
  private static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(path[...slash])
  }
}
