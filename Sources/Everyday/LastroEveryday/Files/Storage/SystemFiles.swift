// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroSupport

/// The file system of the operating system.
struct SystemFiles: FileLayer {
  func open(_ path: String, _ use: FileUse) throws(FileFailure) -> any OpenFile {
    guard !path.utf8.contains(0) else { throw FileFailure(operation: "open", path: path, code: EINVAL) }
    let descriptor =
      switch use {
      // Opening a pipe must not block until its other end is opened.
      case .reading: systemOpen(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      case .keeping: systemOpen(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
      case .replacing: systemOpen(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
      }
    guard descriptor >= 0 else { throw FileFailure(operation: "open", path: path, code: errno) }
    let file = SystemFile(descriptor, path)
    guard try file.status().isRegular else { throw FileFailure(operation: "open", path: path, code: EINVAL) }
    return file
  }

  private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    uninterrupted { Glibc.open(path, flags, mode) }
  }

  func status(of path: String) throws(FileFailure) -> FileStatus? {
    var status = stat()
    if lstat(path, &status) == 0 { return FileStatus(status) }
    if errno == ENOENT { return nil }
    throw FileFailure(operation: "look at", path: path, code: errno)
  }

  func rename(_ path: String, to other: String) throws(FileFailure) {
    guard renameat(AT_FDCWD, path, AT_FDCWD, other) == 0 else {
      throw FileFailure(operation: "name", path: other, code: errno)
    }
  }

  func link(_ path: String, as other: String) throws(FileFailure) -> Bool {
    if linkat(AT_FDCWD, path, AT_FDCWD, other, 0) == 0 { return true }
    guard errno == EPERM || errno == ENOTSUP || errno == ENOSYS || errno == EMLINK else {
      throw FileFailure(operation: "name", path: other, code: errno)
    }
    return false
  }

  func remove(_ path: String) throws(FileFailure) {
    guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure(operation: "remove", path: path, code: errno) }
  }

  func syncFolder(of path: String) throws(FileFailure) {
    let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "."
    let descriptor = systemOpen(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY)
    guard descriptor >= 0 else { throw FileFailure(operation: "open", path: folder, code: errno) }
    defer { close(descriptor) }
    let code = uninterrupted { fsync(descriptor) }
    // Some file systems cannot sync a folder, and report that.
    guard code == 0 || errno == EINVAL || errno == ENOTSUP else {
      throw FileFailure(operation: "sync", path: folder, code: errno)
    }
  }
}

extension FileStatus {
  init(_ status: stat) {
    identity = Identity(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isFolder = status.st_mode & S_IFMT == S_IFDIR
    isLink = status.st_mode & S_IFMT == S_IFLNK
    names = Int(status.st_nlink)
    length = Int64(status.st_size)
    let time = status.st_mtim
    modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
