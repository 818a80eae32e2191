// SPDX-License-Identifier: Apache-2.0

// With the standard library linked statically `timespec` comes through it.
internal import CLastro
internal import Lastro

#if canImport(Glibc)
  internal import Glibc
#endif

/// The files that roots are read from.
enum RootFiles {
  /// Which contents files have, as far as the file system tells.
  struct Version: Hashable, Sendable {
    private struct File: Hashable, Sendable {
      var device: UInt64
      var node: UInt64
      var size: Int64
      var modified: Int64
      var nanoseconds: Int64
    }

    private var files: [File] = []

    /// `nil` when one of them is not there.
    init?(_ paths: [String]) {
      for path in paths {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        files.append(
          File(
            device: UInt64(facts.st_dev), node: UInt64(facts.st_ino), size: Int64(facts.st_size),
            modified: Int64(facts.st_mtim.tv_sec), nanoseconds: Int64(facts.st_mtim.tv_nsec)))
      }
    }
  }

  /// `nil` for roots from memory, and when a file is not there.
  static func version(of source: TLSOptions.Roots) -> Version? {
    switch source {
    case .pem: nil
    case .system: systemFile.flatMap { Version([$0]) }
    case .file(let path): Version([path])
    case .directory(let path): Version([path] + entries(path))
    }
  }

  /// The PEM texts.
  static func texts(of source: TLSOptions.Roots) throws(TransportError) -> [[UInt8]] {
    switch source {
    case .pem(let bytes): return [bytes]
    case .system:
      guard let systemFile else {
        throw .noSystemRoots
      }
      return [try read(systemFile)]
    case .file(let path): return [try read(path)]
    case .directory(let path):
      guard opendir(path).map({ closedir($0) }) != nil else {
        throw .invalidRoots("the directory of trusted roots \(path) cannot be read: \(SystemError.text(errno))")
      }
      return entries(path).compactMap { try? read($0) }
    }
  }

  /// The system's bundle: `SSL_CERT_FILE`, else the first of the distributions' usual places.
  static let systemFile: String? = {
    var candidates = [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
      "/etc/ssl/cert.pem",
    ]
    if let configured = getenv("SSL_CERT_FILE") { candidates.insert(String(cString: configured), at: 0) }
    return candidates.first { access($0, R_OK) == 0 }
  }()

  /// The files in a directory, sorted; not those in directories below.
  private static func entries(_ directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var paths: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      guard !name.hasPrefix(".") else { continue }
      var facts = stat()
      let path = "\(directory)/\(name)"
      if stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG { paths.append(path) }
    }
    return paths.sorted()
  }

  private static func read(_ path: String) throws(TransportError) -> [UInt8] {
    // A path with a NUL would be cut there.
    // Without waiting: a pipe without a writer would hold up the loop.
    let descriptor = path.utf8.contains(0) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      throw .invalidRoots("the file of trusted roots \(path) cannot be read: \(SystemError.text(errno))")
    }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw .invalidRoots("\(path), given as a file of trusted roots, is not a file")
    }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else {
        throw .invalidRoots("the file of trusted roots \(path) cannot be read: \(SystemError.text(errno))")
      }
      guard count > 0 else { break }
      bytes += buffer[..<count]
      // No bundle of roots is so large; /dev/zero is.
      guard bytes.count <= 64 << 20 else { throw .invalidRoots("the file of trusted roots \(path) exceeds 64 MiB") }
    }
    return bytes
  }
}
