// SPDX-License-Identifier: Apache-2.0

// Methods, statuses and header fields are those of swift-http-types. They are half of the vocabulary of this module: a
// file that imports it must not need a second dependency to write `.post`.
@_exported public import HTTPTypes
