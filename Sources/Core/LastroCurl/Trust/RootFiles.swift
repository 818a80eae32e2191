// SPDX-License-Identifier: Apache-2.0

// If the standard library is linked statically, `timespec` is imported through it.
internal import CLastro
internal import FoundationEssentials
internal import Glibc
internal import Lastro

/// The files that roots are read from.
enum RootFiles {
  /// Returns the PEM texts.
  static func texts(of source: TLSOptions.Roots) throws(TransportError) -> [[UInt8]] {
    switch source {
    case .pem(let bytes): return [bytes]
    case .system, .file:
      guard let path = source.path else { throw .noSystemRoots }
      return [try read(path)]
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

  /// Returns the files in a directory, sorted, without those in subdirectories. Returns none for a path that is not a
  /// directory.
  fileprivate static func entries(_ directory: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.sorted().filter { !$0.hasPrefix(".") }.map { "\(directory)/\($0)" }.filter { path in
      var facts = stat()
      return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG
    }
  }

  private static func read(_ path: String) throws(TransportError) -> [UInt8] {
    do throws(BoundedFile.Failure) {
      // No bundle of roots is larger; /dev/zero is.
      return try BoundedFile.bytes(of: path, upTo: 64 << 20)
    } catch {
      throw .invalidRoots("the file of trusted roots \(path) \(error.text)")
    }
  }
}

extension TLSOptions.Roots {
  /// The file or directory; `nil` for roots from memory.
  var path: String? {
    switch self {
    case .pem: nil
    case .system: RootFiles.systemFile
    case .file(let path), .directory(let path): path
    }
  }

  /// The state of the files; `nil` for roots from memory, and if a file does not exist. The call may block.
  var version: FileVersion? { path.flatMap { FileVersion([$0] + RootFiles.entries($0)) } }
}
