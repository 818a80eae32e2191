// SPDX-License-Identifier: Apache-2.0

// If the standard library is linked statically, `timespec` is imported through it.
internal import CLastro
internal import Glibc
internal import Lastro

/// The files that roots are read from.
enum RootFiles {
  /// Returns the state of the files; `nil` for roots from memory, and if a file does not exist.
  static func version(of source: TLSOptions.Roots) -> FileVersion? {
    switch source {
    case .pem: nil
    case .system: systemFile.flatMap { FileVersion([$0]) }
    case .file(let path): FileVersion([path])
    case .directory(let path): FileVersion([path] + entries(path))
    }
  }

  /// Returns the PEM texts.
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

  /// The system's bundle: `SSL_CERT_FILE`, or the first of the distributions' usual places.
  static let systemFile: String? = {
    var candidates = [
      "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
      "/etc/ssl/cert.pem",
    ]
    if let configured = getenv("SSL_CERT_FILE") { candidates.insert(String(cString: configured), at: 0) }
    return candidates.first { access($0, R_OK) == 0 }
  }()

  /// Returns the files in a directory, sorted, without those in subdirectories.
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
    do throws(BoundedFile.Failure) {
      // No bundle of roots is larger; /dev/zero is.
      return try BoundedFile.bytes(of: path, upTo: 64 << 20)
    } catch {
      switch error {
      case .system(let code):
        throw .invalidRoots("the file of trusted roots \(path) cannot be read: \(SystemError.text(code))")
      case .unfit, .silent: throw .invalidRoots("\(path), given as a file of trusted roots, is not a file")
      case .tooLarge: throw .invalidRoots("the file of trusted roots \(path) exceeds 64 MiB")
      }
    }
  }
}
