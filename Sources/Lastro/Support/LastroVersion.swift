// SPDX-License-Identifier: Apache-2.0

/// The version of this package.
public enum LastroVersion {
  /// Semantic version.
  public static let current = "0.1.0"
}
