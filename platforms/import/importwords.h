// What graphs of networks call their switches and hosts. Private to the room.
// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef SAND_PLATFORMS_IMPORT_IMPORTWORDS_H
#define SAND_PLATFORMS_IMPORT_IMPORTWORDS_H

// 0 leaf, 1 spine, 2 core; -1: no such word.
int import_word_tier(const char *word);

// What a node of a graph is by the word for its kind, or by its name where no word is given.
enum import_vertex { IMPORT_VERTEX_UNKNOWN, IMPORT_VERTEX_HOST, IMPORT_VERTEX_SWITCH };
enum import_vertex import_word_kind(const char *word);
enum import_vertex import_name_kind(const char *name);

#endif
