// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import Lastro
internal import LastroSupport
internal import LastroWire

/// A store in a folder, for several processes on one host.
///
/// Each key is a file that only its owner may read and that is replaced atomically; a lock file orders the changes.
/// Time is the system's date. The folder must be on a local file system, because locks of network file systems are
/// unreliable. Operations access the disk on the calling thread, for as long as writing a small file takes.
///
/// ```swift
/// let store = try FileStore(folder: "/var/lib/shop/fleet")
/// ```
///
/// It may be used from any thread.
public final class FileStore: FleetStore {
  /// The time to wait for the lock, which processes hold for as long as they write a small file.
  private static let patience = Duration.seconds(5)

  private let folder: String
  private let time: TimeSource

  /// Opens the folder, which is created if it does not exist; its parent must exist.
  ///
  /// - Parameters:
  ///   - folder: the path of the folder. Only its owner should have access to it; a new one has mode 0700.
  ///   - time: the source of time. Default: the system's. Processes that share a folder must use the same date.
  /// - Throws: `ConfigurationError` if the path is not a folder in which files can be made.
  public init(folder: String, time: TimeSource = .continuous) throws(ConfigurationError) {
    guard !folder.isEmpty, !folder.utf8.contains(0) else {
      throw ConfigurationError("the store's folder is empty or has a NUL", hint: "give the path of a folder")
    }
    if mkdir(folder, 0o700) != 0, errno != EEXIST {
      throw ConfigurationError(
        "cannot make the store's folder \(folder.escapedForDisplay): \(String(cString: strerror(errno)))",
        hint: "make its parent, and let this process write there")
    }
    guard access(folder, R_OK | W_OK | X_OK) == 0 else {
      throw ConfigurationError(
        "cannot use the store's folder \(folder.escapedForDisplay): \(String(cString: strerror(errno)))",
        hint: "let this process read and write there")
    }
    self.folder = folder
    self.time = time
  }

  /// Returns the current value of a key.
  ///
  /// - Throws: ``FleetStoreError``.
  public func read(_ key: String) async throws(FleetStoreError) -> StoredValue {
    let file = try file(of: key)
    let lock = try await lock()
    defer { close(lock) }
    return try current(file, at: time.sinceEpoch())
  }

  /// Changes the value of a key if it is still the expected one.
  ///
  /// - Throws: ``FleetStoreError``.
  public func set(
    _ key: String, to new: [UInt8], ifCurrently old: [UInt8]?, expiresAfter lifetime: Duration
  ) async throws(FleetStoreError) -> StoredValue {
    let file = try file(of: key)
    let lock = try await lock()
    defer { close(lock) }
    let now = time.sinceEpoch()
    let found = try current(file, at: now)
    guard found.bytes == old || found.bytes == new else { return found }
    do throws(PrivateFile.Failure) {
      let end = (now + lifetime.countable) / .milliseconds(1)
      try file.replace(with: "\(Int64(end)) \(Base64.encode(new))\n")
    } catch {
      throw failure(error)
    }
    return StoredValue(bytes: new, time: now)
  }

  /// Returns the value of a file, which is a line with the time of its expiry in milliseconds and the value in Base64.
  private func current(_ file: PrivateFile, at now: Duration) throws(FleetStoreError) -> StoredValue {
    let text: String?
    do throws(PrivateFile.Failure) { text = try file.read() } catch { throw failure(error) }
    guard let text else { return StoredValue(bytes: nil, time: now) }
    let words = text.dropLast().split(separator: " ", omittingEmptySubsequences: false)
    guard text.last == "\n", words.count == 2, let end = Int64(digits: words[0]),
      let bytes = Base64.decode(words[1].utf8.filter { $0 != UInt8(ascii: "=") })
    else {
      throw FleetStoreError(
        .unreadable, "a file in \(folder.escapedForDisplay) is not of this store",
        hint: "remove it, or use another folder")
    }
    return StoredValue(bytes: .milliseconds(end) > now ? bytes : nil, time: now)
  }

  /// Returns the file of a key. Its name has the characters of the key, and hexadecimal numbers for those that a path
  /// cannot have.
  private func file(of key: String) throws(FleetStoreError) -> PrivateFile {
    guard StoreKey.isValid(key), key.utf8.count <= 80 else {
      throw FleetStoreError(
        .refused, "the key is not 1 to 80 characters of visible ASCII", hint: "give a short name without blanks")
    }
    let name = key.utf8.map { byte in
      let isPlain = byte.isAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      return isPlain ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
    }
    return PrivateFile("\(folder)/1-\(name.joined())")
  }

  /// Waits for the lock of the folder. The caller closes the descriptor to release it.
  private func lock() async throws(FleetStoreError) -> Int32 {
    let descriptor = uninterrupted { open("\(folder)/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard descriptor >= 0 else { throw system("cannot open the lock", errno) }
    let countdown = Countdown(Self.patience, now: time.now)
    while uninterrupted({ flock(descriptor, LOCK_EX | LOCK_NB) }) != 0 {
      guard errno == EWOULDBLOCK, countdown.left ?? .zero > .zero else {
        let error = errno == EWOULDBLOCK ? locked : system("cannot lock", errno)
        close(descriptor)
        throw error
      }
      do { try await time.sleep(.milliseconds(2)) } catch {
        close(descriptor)
        throw .cancelledOperation
      }
    }
    return descriptor
  }

  private var locked: FleetStoreError {
    FleetStoreError(
      .timedOut, "another process has locked \(folder.escapedForDisplay) for \(Self.patience.brief)",
      hint: "look for a process that is stopped")
  }

  private func system(_ words: String, _ reason: Int32) -> FleetStoreError {
    FleetStoreError(
      .unreachable, "\(words) of \(folder.escapedForDisplay): \(String(cString: strerror(reason)))",
      hint: "let this process read and write there")
  }

  private func failure(_ failure: PrivateFile.Failure) -> FleetStoreError {
    let place = folder.escapedForDisplay
    return switch failure {
    case .system(let words, let reason, let hint):
      FleetStoreError(.unreachable, "\(words) a file in \(place): \(reason)", hint: hint)
    case .unfit, .notText:
      FleetStoreError(
        .unreadable, "a file in \(place) is not of this store", hint: "remove it, or use another folder")
    case .tooLarge(let count):
      FleetStoreError(
        .refused, "a value has \(count) bytes, above the limit of \(PrivateFile.maximumBytes)", hint: "store less")
    }
  }
}

extension UInt8 {
  fileprivate var isAlphanumeric: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }
}
